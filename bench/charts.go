package main

import "github.com/actorlock/actorlock/bench/internal/report"

// charts are what -svg draws, as far as their scenarios were run.
func charts() []report.Chart {
	return []report.Chart{
		{
			File: "throughput", Title: "Acquire + release on distinct keys", Axis: "pairs/s against plain go-redis",
			Metric: "pairs", Ratio: true,
			Scenarios: []report.Group{
				{Scenario: "serial", Label: "1 caller"}, {Scenario: "pairs/16", Label: "16"}, {Scenario: "pairs/64", Label: "64"},
				{Scenario: "pairs/256", Label: "256"}, {Scenario: "pairs/1024", Label: "1,024 callers"},
			},
		},
		{
			File: "cpu", Title: "CPU of client and server for one acquire + release", Axis: "against plain go-redis",
			Metric: "CPU", Ratio: true,
			Scenarios: []report.Group{
				{Scenario: "serial", Label: "1 caller"}, {Scenario: "pairs/16", Label: "16"}, {Scenario: "pairs/64", Label: "64"},
				{Scenario: "pairs/256", Label: "256"}, {Scenario: "pairs/1024", Label: "1,024 callers"},
			},
		},
		{
			File: "hotkey", Title: "One key that 64 callers want", Axis: "sections/s", Metric: "sections", Log: true,
			Scenarios: []report.Group{
				{Scenario: "hot/1x64", Label: "one node"}, {Scenario: "hot/4x16", Label: "four nodes"},
			},
		},
		{
			File: "wakeup", Title: "Entry of a waiter on another node", Axis: "ms, median", Metric: "p50", Log: true,
			Scenarios: []report.Group{
				{Scenario: "wake/release", Label: "after a release"}, {Scenario: "wake/expiry", Label: "after a crashed holder's expiry"},
			},
		},
		{
			File: "held", Title: "Keys held with a TTL of 3 s", Axis: "client CPU, ms/s", Metric: "client CPU", Log: true,
			Scenarios: heldGroups(),
		},
		{
			File: "memory", Title: "Keys held", Axis: "kB/key, goroutine of the caller included", Metric: "memory",
			Scenarios: heldGroups()[1:],
		},
	}
}

func heldGroups() []report.Group {
	return []report.Group{
		{Scenario: "held/10", Label: "10 keys"}, {Scenario: "held/1000", Label: "1,000"},
		{Scenario: "held/10000", Label: "10,000"}, {Scenario: "held/100000", Label: "100,000 keys"},
	}
}
