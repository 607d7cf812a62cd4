"""Lines, JSON, TOML and field errors of contributed files, each problem with its place in the file."""
