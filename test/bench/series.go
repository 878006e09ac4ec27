package main

import "slices"

// series is one benchmark, and which of its figures go into the report.
type series struct {
	Title   string
	Package string
	Bench   string
	Turns   string // as -benchtime has it
	Figures []figure
}

// figure is one number of a benchmark.
type figure struct {
	Case string  // of the benchmark's cases; "" where it has none
	Unit string  // by which the benchmark reports it; with "ms-" its -p95 and -p99 are read as well
	Says string  // what it is
	Most float64 // wanted; 0 where nothing is
	Bar  bool    // it is in the picture
	Part bool    // it is a part of the road, drawn in the picture of roads
}

// road are the parts of a run's time, as its response tells them: of one that makes its sandbox, and of one that finds it ready.
var (
	road = []figure{
		{Unit: "ms-phase-admit", Says: "read, admit, journal", Part: true},
		{Unit: "ms-phase-queue", Says: "queue", Part: true},
		{Unit: "ms-phase-create", Says: "create", Part: true},
		{Unit: "ms-phase-start", Says: "start, hold, look, release", Part: true},
		{Unit: "ms-phase-run", Says: "the child", Part: true},
		{Unit: "ms-end-to-response", Says: "answer", Part: true},
	}
	preparedRoad = []figure{
		{Unit: "ms-phase-admit", Says: "read, admit, journal", Part: true},
		{Unit: "ms-phase-queue", Says: "queue, claim", Part: true},
		{Unit: "ms-phase-create", Says: "workspace and context in", Part: true},
		{Unit: "ms-phase-start", Says: "look, journal, release", Part: true},
		{Unit: "ms-phase-run", Says: "the child", Part: true},
		{Unit: "ms-end-to-response", Says: "answer", Part: true},
	}
)

const (
	e2e     = "./test/e2e"
	watcher = "./watcher"
	clients = "./test/clients"
)

// all is what is measured, in the order of the report.
var all = []series{
	{Title: "A whole run that does nothing, cold, Docker", Package: e2e, Bench: "ColdRun/docker", Turns: "20x", Figures: slices.Concat(road, []figure{
		{Unit: "of-docker-run", Says: "ours, of docker run", Most: 0.5},
		{Unit: "ms-docker-run", Says: "docker run --rm --network none", Bar: true},
		{Unit: "ms-half-second-polls", Says: "MassGen's way: two looks a second, no sandbox", Bar: true},
		{Unit: "ms-api-loop", Says: "a bare loop over the engine's API", Bar: true},
		{Unit: "ms-ours", Says: "Torno, Docker, cold", Bar: true},
		{Unit: "ms-bwrap", Says: "bwrap, by hand", Bar: true},
	})},
	{Title: "A whole run that does nothing, cold, gVisor", Package: e2e, Bench: "ColdRun/gvisor", Turns: "20x", Figures: slices.Concat(road, []figure{
		{Unit: "of-docker-run", Says: "ours, of docker run", Most: 0.43},
		{Unit: "above-bare-runsc", Says: "ours above a bare runsc run, of docker run", Most: 0.05},
		{Unit: "above-bounded-runsc", Says: "the same in a control group, of docker run", Most: 0.05},
		{Unit: "ms-bare-runsc", Says: "runsc run, by hand", Bar: true},
		{Unit: "ms-ours", Says: "Torno, gVisor, cold", Bar: true},
		{Unit: "ms-docker-run", Says: "docker run, in turn"},
	})},
	prepared("Docker", "docker"),
	prepared("gVisor", "gvisor"),
	sustained("Docker", "docker"),
	sustained("gVisor", "gvisor"),
	fifty("Docker", "docker"),
	fifty("gVisor", "gvisor"),
	{Title: "Before and after the engine's work", Package: e2e, Bench: "Road", Turns: "4x", Figures: []figure{
		{Unit: "ms-pick-up", Says: "request renamed to create called", Most: 10},
		{Unit: "ms-answer", Says: "child gone to response visible", Most: 10},
		{Unit: "ms-bare-create", Says: "one bare create call, in turn"},
	}},
	{Title: "Several at once, Docker, beside a bare loop over its API", Package: e2e, Bench: "Throughput", Turns: "1x", Figures: []figure{
		{Case: "slots1", Unit: "of-bare", Says: "one slot, runs a second, of the bare loop's"},
		{Case: "slots2", Unit: "of-bare", Says: "two"},
		{Case: "slots4", Unit: "of-bare", Says: "four"},
		{Case: "slots8", Unit: "of-bare", Says: "eight"},
		{Case: "slots8", Unit: "runs/s", Says: "eight, runs a second"},
	}},
	{Title: "Growth: ten, a hundred, a thousand at once, through outbox and journal alone", Package: watcher, Bench: "Flood", Turns: "1x", Figures: []figure{
		{Case: "at-once10", Unit: "ms-cpu/run", Says: "processor time of a run, its client's part included, of ten"},
		{Case: "at-once100", Unit: "ms-cpu/run", Says: "of a hundred"},
		{Case: "at-once1000", Unit: "ms-cpu/run", Says: "of a thousand, with eight slots"},
		{Case: "at-once10", Unit: "KiB-held/run", Says: "memory that a run leaves, KiB, of ten"},
		{Case: "at-once100", Unit: "KiB-held/run", Says: "of a hundred"},
		{Case: "at-once1000", Unit: "KiB-held/run", Says: "of a thousand"},
		{Case: "at-once10", Unit: "runs/s", Says: "ten, runs a second"},
		{Case: "at-once100", Unit: "runs/s", Says: "a hundred"},
		{Case: "at-once1000", Unit: "runs/s", Says: "a thousand"},
		{Case: "at-once1000", Unit: "of-bare-loop", Says: "a thousand, of a bare loop of the same files and flushes"},
		{Case: "at-once1000", Unit: "flushes/run", Says: "flushes of a run", Most: 2},
		{Case: "at-once1000", Unit: "µs/flush", Says: "one flush here, µs"},
	}},
	{Title: "Behind 100,000 files that are none of its business", Package: watcher, Bench: "Crowd", Turns: "1x", Figures: []figure{
		{Case: "junk_files", Unit: "of-empty", Says: "junk: the pick-up, of that in an empty outbox", Most: 2},
		{Case: "answered_requests", Unit: "of-empty", Says: "answered requests", Most: 2},
	}},
	{Title: "Fifty children of gVisor at once, cold", Package: e2e, Bench: "Crowd", Turns: "1x", Figures: []figure{
		{Unit: "MB-child", Says: "memory of an idle child, MB", Most: 40},
		{Unit: "ms-start-p50", Says: "from its place to its agent, half of them"},
		{Unit: "s-until-all-run", Says: "until all run, seconds"},
	}},
	{Title: "An idle minute", Package: e2e, Bench: "Idle", Turns: "1x", Figures: []figure{
		{Case: "alone", Unit: "cpu-ms-a-minute", Says: "processor, ms"},
		{Case: "alone", Unit: "MiB-own", Says: "memory of its own, MiB", Most: 10},
		{Case: "alone", Unit: "MiB-of-its-file", Says: "of its program's file, MiB", Most: 18},
		{Case: "pool", Unit: "cpu-ms-a-minute", Says: "processor beside four sandboxes that are ready, ms"},
		{Case: "pool", Unit: "MiB-own", Says: "memory of its own beside them, MiB", Most: 10},
	}},
	{Title: "A model's answer, through the gateway", Package: e2e, Bench: "AModelCall", Turns: "20x", Figures: []figure{
		{Case: "docker", Unit: "ms-head-added-p50", Says: "added with Docker until it begins", Most: 1},
		{Case: "gvisor", Unit: "ms-head-added-p50", Says: "added with gVisor", Most: 2},
	}},
	{Title: "An agent's event, until a client has it", Package: clients, Bench: "AnEvent", Turns: "2x", Figures: []figure{
		{Case: "docker/hurries", Unit: "ms-p50", Says: "with Docker, one event after the other", Most: 10},
		{Case: "docker/thinks", Unit: "ms-p50", Says: "after a pause", Most: 10},
		{Case: "gvisor/hurries", Unit: "ms-p50", Says: "with gVisor, one event after the other", Most: 10},
		{Case: "gvisor/thinks", Unit: "ms-p50", Says: "after a pause", Most: 10},
		{Case: "docker/hurries", Unit: "ms-p50-rename", Says: "a bare file that is renamed, in turn"},
	}},
	{Title: "A real agent's whole run, cold, beside itself on the host", Package: clients, Bench: "AnAgentsRun", Turns: "8x", Figures: agent},
	{Title: "A real agent's whole run, prepared, beside itself on the host", Package: clients, Bench: "APreparedAgentsRun", Turns: "8x", Figures: agent},
}

var agent = []figure{
	{Case: "docker", Unit: "of-the-hosts", Says: "Claude Code with Docker, of its time on the host", Most: 1.05},
	{Case: "gvisor", Unit: "of-the-hosts", Says: "with gVisor", Most: 1.5},
	{Case: "docker", Unit: "of-the-hosts-cpu", Says: "with Docker, of its processor time on the host"},
	{Case: "gvisor", Unit: "of-the-hosts-cpu", Says: "with gVisor"},
	{Case: "docker", Unit: "ms-on-the-host", Says: "on the host, ms"},
}

// prepared is from the request to the agent, in a sandbox that is ready.
func prepared(name, launcher string) series {
	return series{Title: "A run in a sandbox that is ready, " + name, Package: e2e, Bench: "PreparedRun/" + launcher, Turns: "30x", Figures: slices.Concat(preparedRoad, []figure{
		{Unit: "of-docker-run", Says: "request to agent, of docker run", Most: 0.05},
		{Unit: "ms-prepared", Says: "Torno, " + name + ", prepared: until the child runs", Most: 15, Bar: true},
		{Unit: "cold-of-docker-run", Says: "the same of a run that makes its own, of docker run"},
		{Unit: "ms-cold", Says: "cold, in turn"},
		{Unit: "ms-docker-run", Says: "docker run, in turn"},
	})}
}

// sustained is the same without a rest.
func sustained(name, launcher string) series {
	return series{Title: "One request for each sandbox that is made ready, without a rest, " + name, Package: e2e, Bench: "Sustained/" + launcher, Turns: "40x", Figures: []figure{
		{Unit: "of-docker-run", Says: "request to agent, of docker run", Most: 0.05},
		{Unit: "ms-prepared", Says: "request to agent", Most: 15},
		{Unit: "runs/s", Says: "runs a second"},
		{Unit: "missed", Says: "runs that found none ready"},
	}}
}

// fifty are as many as the pool holds.
func fifty(name, launcher string) series {
	return series{Title: "Fifty at once from a pool of fifty, " + name, Package: e2e, Bench: "FiftyAtOnce/" + launcher, Turns: "1x", Figures: []figure{
		{Unit: "s-until-all-run", Says: "until all run, seconds", Most: 1},
		{Unit: "s-until-half-run", Says: "until half of them do"},
		{Unit: "missed", Says: "runs that found none ready"},
		{Unit: "MB-prepared", Says: "memory of one that is ready, MB"},
		{Unit: "MB-running", Says: "memory of one that runs, its agent asleep, MB"},
	}}
}
