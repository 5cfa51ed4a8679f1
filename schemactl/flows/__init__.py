"""Runs the commands, one module per subcommand or shared step, free of the terminal."""
