"""Our own region proposals: the head of the proposer `rpn`, taught by a detector, and how much of it it finds."""
