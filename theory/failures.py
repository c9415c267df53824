"""What is raised where a check does not do what a check must."""


class CheckFailed(AssertionError):
    """A check did not do what a check must: a wrong variant passed it, or it contradicts itself."""
