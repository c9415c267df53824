"""Reference clients of the protocol of ``simlab certify --command``, to be copied: C++, Rust and Python."""
