"""What a tree held, kept out of the way under hidden refs, and put back."""
