"""Stand-ins for what a test or a demo can't have for real: a scripted model, a fake app-server."""
