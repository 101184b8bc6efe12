"""What hookrunner measures of itself (`names`) and what hooks export (`hooks`), down to the Prometheus text."""
