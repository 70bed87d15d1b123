"""Images composed of a target, a background and a co-object: two shortcuts in each. Arrays only, no torch."""
