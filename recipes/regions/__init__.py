"""Do regions help when the backbone learns too?"""
