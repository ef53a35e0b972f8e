import Core
import Testing

@Suite struct MetricsTests {
    @Test func figuresAreWrittenInPrometheusFormat() {
        let metrics = Metrics()
        let labels: Metrics.Labels = ["code": "200", "path": "a\"b\\c\n"]
        let counter = metrics.counter("requests_total", help: "Requests.", labels: labels)
        counter.add()
        counter.add(2)
        // The same instrument, found again.
        metrics.counter("requests_total", help: "Requests.", labels: labels).add()
        metrics.counter("requests_total", help: "Requests.", labels: ["code": "500"]).add()
        metrics.gauge("connections", help: "Open now.").set(7)
        metrics.reading("uptime_seconds", help: "Since the start.") { 1.5 }
        let histogram = metrics.histogram("seconds", help: "Time.", labels: ["op": "get"], buckets: [0.1, 1])
        for value in [0.05, 0.1, 0.5, 3] { histogram.observe(value) }
        histogram.observe(.nan)
        #expect(
            metrics.exposition() == """
                # HELP connections Open now.
                # TYPE connections gauge
                connections 7
                # HELP requests_total Requests.
                # TYPE requests_total counter
                requests_total{code="200",path="a\\"b\\\\c\\n"} 4
                requests_total{code="500"} 1
                # HELP seconds Time.
                # TYPE seconds histogram
                seconds_bucket{op="get",le="0.1"} 2
                seconds_bucket{op="get",le="1"} 3
                seconds_bucket{op="get",le="+Inf"} 4
                seconds_sum{op="get"} 3.65
                seconds_count{op="get"} 4
                # HELP uptime_seconds Since the start.
                # TYPE uptime_seconds gauge
                uptime_seconds 1.5

                """)
    }
}
