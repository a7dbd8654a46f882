"""Planning: how wide a region will be, for whom, and how long a collection takes."""
