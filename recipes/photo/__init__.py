"""The photo model: photographs and sentences as 128 bits, of which the first 64 are a code by themselves."""
