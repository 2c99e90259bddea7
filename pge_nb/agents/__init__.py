"""The three roles. Each reads the state file, asks a model with a fresh context, and makes records."""
