"""Questions to people: the queue, the answers' way back, and how people hear of them."""
