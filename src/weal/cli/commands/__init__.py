"""The commands of `weal`. Each imports numerical code inside its function: `--help` stays fast."""
