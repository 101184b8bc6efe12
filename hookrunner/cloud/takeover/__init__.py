"""Taking Nodes over that no manager would initialise; load balancers without a Service; taking all of it away again."""
