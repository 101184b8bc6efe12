"""What puts objects in order after a change, as the controllers of a real control plane do, and seeds."""
