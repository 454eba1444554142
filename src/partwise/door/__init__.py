"""The one door for bytes from outside: files, archives, pictures, blocks; nothing is trusted that they declare."""
