"""What the commands do, one module per subcommand or shared step, free of the terminal."""
