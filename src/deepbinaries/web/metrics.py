"""Counts and times for Prometheus."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class Metrics:
    """What the server has done. One thread counts, that of the event loop."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}  # by route; the last is everything above the buckets
        self._seconds: Counter[str] = Counter()

    def count(self, route: str, status: int, seconds: float) -> None:
        """Note a request that was answered."""
        self._requests[route, status] += 1
        times = self._times.setdefault(route, [0] * (len(BUCKETS) + 1))
        times[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a counter of seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Everything in the text format of Prometheus, `gauges` by their names.

        >>> metrics = Metrics()
        >>> metrics.count("search", 200, 0.002)
        >>> "deepbinaries_requests_total{route=\\"search\\",status=\\"200\\"} 1" in metrics.text({"items": 3})
        True
        """
        lines = ["# TYPE deepbinaries_requests_total counter"]
        for (route, status), n in sorted(self._requests.items()):
            lines.append(f'deepbinaries_requests_total{{route="{route}",status="{status}"}} {n}')
        lines.append("# TYPE deepbinaries_request_seconds histogram")
        for route, times in sorted(self._times.items()):
            lines += _histogram(route, times, float(self._seconds[route]))
        for name, value in {"requests_in_flight": self.in_flight, **gauges}.items():
            lines += [f"# TYPE deepbinaries_{name} gauge", f"deepbinaries_{name} {value}"]
        return "\n".join(lines) + "\n"


def _histogram(route: str, times: list[int], seconds: float) -> list[str]:
    name, so_far, lines = "deepbinaries_request_seconds", 0, []
    for bucket, n in zip((*map(str, BUCKETS), "+Inf"), times, strict=True):
        so_far += n
        lines.append(f'{name}_bucket{{route="{route}",le="{bucket}"}} {so_far}')
    return [
        *lines,
        f'{name}_sum{{route="{route}"}} {seconds:.6f}',
        f'{name}_count{{route="{route}"}} {so_far}',
    ]
