package planted

// defect describes a change that breaks Torno: it replaces Old, which File has exactly once, by New. Test must fail with it.
type defect struct {
	What     string // what the change lets happen
	File     string
	Old, New string
	Package  string
	Test     string // in Package
}

var defects = []defect{
	{
		"a child may be given a directory that the operator keeps from every sandbox", "sandbox/compile/places.go",
		"if paths.Nested(here, hidden) {", "if here == hidden {", "./sandbox/compile", "TestRefusals",
	},
	{
		"a file with a second name in the outbox is read, and may be any file of the host's", "internal/beneath/beneath.go",
		"st.Nlink != 1 {", "st.Nlink == 0 {", "./internal/beneath", "TestOnlyPlainThingsAreOpened",
	},
	{
		"a child's link that leads out of its copy is taken over", "manager/patch/names.go",
		"if depth--; down || depth < 0 {", "if depth--; down {", "./manager/patch", "TestADiffIsNoWayAroundARefusal",
	},
	{
		"requests under way are not counted when a budget is nearly used up", "internal/gateway/budget/limits.go",
		"case sum(sum(u.spent[w], u.open[w]), wanted) > limit:", "case sum(u.open[w], wanted) > limit:", "./internal/gateway/budget", "TestParallelRequests",
	},
	{
		"a second request can be hidden in the body of the first", "internal/gateway/wire/head.go",
		"case len(lengths) > 0 && len(codings) > 0:", "case len(lengths) > 1 && len(codings) > 1:", "./internal/gateway/wire", "TestAttacks",
	},
	{
		"a child may trace other processes", "internal/seccomp/rules.go",
		"the mounts decide which files can be reached\", Names: calls(`", "the mounts decide which files can be reached\", Names: calls(`ptrace ", "./internal/seccomp", "TestNothingThatHarmsIsAllowed",
	},
	{
		"a child has a network", "sandbox/docker/recipe/recipe.go",
		`NetworkMode:    "none",`, `NetworkMode:    "default",`, "./sandbox/docker/recipe", "TestContainerConfig",
	},
	{
		"the journal does not wait for the disk", "internal/journal/writer.go",
		"level = `PRAGMA synchronous = full`", "level = `PRAGMA synchronous = normal`", "./internal/journal", "TestAPowerCut",
	},
	{
		"a result that could not be printed counts as taken", "cmd/subagent/deliver.go",
		"if err != nil {\n\t\treturn 0, fmt.Errorf(\"%w: subagent %s: write", "if err != nil && code < 0 {\n\t\treturn 0, fmt.Errorf(\"%w: subagent %s: write", "./cmd/subagent", "TestStories",
	},
	{
		"a file with a second name passes for the agent's own answer", "internal/initproc/answer.go",
		"if there.Nlink == 1 {", "if there.Nlink > 0 {", "./cmd/sandbox-init", "TestWhatIsNoAnswer",
	},
}
