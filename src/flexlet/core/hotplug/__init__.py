"""What follows when the machine under a node grows or shrinks, decided purely (KEP-3953, KEP-5578)."""
