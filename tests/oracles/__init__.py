"""Other projects' own code, asked what it says: small Go programs, built once and kept like the control plane."""
