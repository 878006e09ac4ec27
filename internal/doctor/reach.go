package doctor

import "fmt"

// lookAtReach judges the results of children that tried to get out of their sandboxes.
func lookAtReach(s System) (found []Finding) {
	if len(s.Reaches) == 0 {
		return []Finding{{Verdict: Unknown, Seen: "no child has tried", Means: "it is not known what a child reaches", Do: "see walls"}}
	}
	for _, r := range s.Reaches {
		found = append(found, r.judge())
	}
	return found
}

func (r Reach) judge() Finding {
	switch {
	case r.Error != "":
		return Finding{
			Verdict: Unknown, Seen: fmt.Sprintf("no child of profile %s could try: %s", r.Profile, r.Error),
			Means: "it is not known what it would reach", Do: "watcher check --try shows more",
		}
	case r.Child == "":
		return Finding{
			Verdict: Bad, Seen: fmt.Sprintf("a child of profile %s reaches %s at %s", r.Profile, r.What, r.Address),
			Means: "the wall has a hole", Do: "do not use this profile; check its sockets and its image, and report this",
		}
	}
	f := Finding{
		Verdict: OK, Seen: fmt.Sprintf("a child of profile %s does not reach %s at %s: %s", r.Profile, r.What, r.Address, r.Child),
		Means: "outside of a sandbox the same program reaches it",
	}
	if r.Host != "" {
		f.Means = "nothing answers there outside of a sandbox either (" + r.Host + "), so this proves little"
	}
	return f
}
