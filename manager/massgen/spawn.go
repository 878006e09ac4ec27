package massgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torno/delegation"
)

// Parent holds the facts against which a spawn is checked.
type Parent struct {
	Workspace string
	MaxTasks  int                    // per call
	Exists    func(path string) bool // checks a context path; a relative path is below the workspace
	NextID    func() string          // returns an ID for a task without one: subagent_0, subagent_1 …
	Running   []string               // IDs of the running children
	Types     []string               // names of the profiles

	// InheritsBackend is subagent_orchestrator.inherit_spawning_agent_backend: a task may not choose its own model.
	InheritsBackend bool
}

// Spawn is a call of spawn_subagents.
type Spawn struct {
	Tasks      []Task
	Background bool
	Refine     bool
}

// Task is one child that a call asks for.
type Task struct {
	ID            delegation.SubagentID
	Task          string
	Type          string // name of a profile in lower case, or ""
	IncludeParent bool   // the child may read the parent's workspace
	IncludeTemp   bool   // the child may read the directory of the peers' workspaces
	ContextPaths  []string
	ContextFiles  []string
	Model         string
	SystemPrompt  string
	Skills        []string
	Metadata      map[string]any
	Timeout       int // in seconds; 0 if the task gives none

	id string // as the caller wrote it
}

var taskFields = []string{
	"task", "subagent_id", "subagent_type", "subagent_name", "include_parent_workspace", "include_temp_workspace", "context_paths",
	"context_files", "model", "system_prompt", "skills", "metadata", "timeout_seconds",
}

// ParseSpawn parses and checks the arguments of spawn_subagents.
func ParseSpawn(arguments []byte, parent Parent) (Spawn, *Failure) {
	fields, failure := object(OpSpawn, arguments)
	if failure != nil {
		return Spawn{}, failure
	}
	list, failure := taskList(fields["tasks"], parent.MaxTasks)
	if failure != nil {
		return Spawn{}, failure
	}
	call := &reader{at: "The call", fields: fields}
	spawn := Spawn{Background: call.flag("background", false), Refine: call.flag("refine", true)}
	shared := call.texts("context_paths")
	call.only("tasks", "background", "refine", "context_paths")
	for i, entry := range list {
		task, wrong, failure := parseTask(i, entry, shared, parent)
		if failure != nil {
			return Spawn{}, failure
		}
		if call.wrong == "" {
			call.wrong = wrong
		}
		spawn.Tasks = append(spawn.Tasks, task)
	}
	if failure := checkTogether(spawn.Tasks, parent); failure != nil {
		return Spawn{}, failure
	}
	if call.wrong != "" {
		return Spawn{}, OpSpawn.fail("%s", call.wrong)
	}
	return spawn, parseIDs(spawn.Tasks)
}

// taskList returns the list of tasks, after it has checked the number of tasks.
func taskList(tasks any, limit int) ([]any, *Failure) {
	list, ok := tasks.([]any)
	if tasks != nil && !ok {
		return nil, OpSpawn.fail("The call has an invalid 'tasks' type: expected list, got %s.", pythonType(tasks))
	}
	if len(list) == 0 {
		return nil, OpSpawn.fail("No tasks provided. Must provide at least one task.")
	}
	if n := len(list); n > limit {
		return nil, OpSpawn.fail("Too many tasks: %d requested but maximum is %d. Please reduce to %d or fewer tasks per spawn_subagents call.", n, limit, limit)
	}
	return list, nil
}

// parseTask parses one task. wrong is a mistake for which MassGen has no text. The caller reports it only if all of
// MassGen's checks pass.
func parseTask(i int, entry any, shared []string, parent Parent) (task Task, wrong string, failure *Failure) {
	fields, ok := entry.(map[string]any)
	text, isText := fields["task"].(string)
	if !ok || !isText || strings.TrimSpace(text) == "" {
		return task, "", OpSpawn.fail("Task at index %d missing required 'task' field", i)
	}
	paths, failure := contextPaths(i, fields["context_paths"], shared, parent)
	if failure != nil {
		return task, "", failure
	}
	r := &reader{at: fmt.Sprintf("Task at index %d", i), fields: fields}
	task = Task{
		Task: text, id: r.text("subagent_id"), ContextPaths: paths,
		Type: strings.ToLower(r.text("subagent_type")), Model: r.text("model"), SystemPrompt: r.text("system_prompt"),
		IncludeParent: r.flag("include_parent_workspace", true), IncludeTemp: r.flag("include_temp_workspace", true),
		ContextFiles: r.texts("context_files"), Skills: r.texts("skills"), Metadata: r.object("metadata"), Timeout: r.seconds("timeout_seconds"),
	}
	alias := r.text("subagent_name")
	if task.Type == "" {
		task.Type = strings.ToLower(alias)
	}
	r.only(taskFields...)
	return task, r.wrong, nil
}

// contextPaths returns a task's own context paths and those of the whole call. Each of them must exist.
func contextPaths(i int, own any, shared []string, parent Parent) ([]string, *Failure) {
	list, ok := own.([]any)
	if own != nil && !ok {
		return nil, OpSpawn.fail("Task at index %d has invalid 'context_paths' type: expected list, got %s. Use [] for no extra paths or a list of path strings.", i, pythonType(own))
	}
	paths := make([]string, 0, len(list)+len(shared))
	for j, entry := range list {
		path, ok := entry.(string)
		if !ok {
			return nil, OpSpawn.fail("Task at index %d context_paths[%d]: expected string, got %s", i, j, pythonType(entry))
		}
		paths = append(paths, path)
	}
	for _, path := range shared {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if path == "" || strings.ContainsRune(path, 0) || !parent.Exists(path) {
			return nil, OpSpawn.fail("Task at index %d has a non-existent context_path: '%s'. Your workspace is at: %s. Check the path exists first.", i, path, parent.Workspace)
		}
	}
	return paths, nil
}

// checkTogether compares the tasks with each other and with the running children. It gives an ID to each task without
// one.
func checkTogether(tasks []Task, parent Parent) *Failure {
	var withModel []string
	for i := range tasks {
		if tasks[i].Model != "" {
			withModel = append(withModel, fmt.Sprint(i))
		}
	}
	if parent.InheritsBackend && len(withModel) > 0 {
		return OpSpawn.fail("Task-level model override is not allowed when subagent_orchestrator.inherit_spawning_agent_backend=true. Remove 'model' from task(s) at index: %s.", strings.Join(withModel, ", "))
	}
	twice, running := clashes(tasks, parent)
	if len(twice) > 0 {
		return OpSpawn.fail("Duplicate subagent_id values in this spawn request: %s. Each task must use a unique subagent_id.", strings.Join(twice, ", "))
	}
	if len(running) > 0 {
		return OpSpawn.fail("Cannot spawn subagent_id already running: %s. Use send_message_to_subagent() to steer the existing run, or wait/cancel it before spawning again.", strings.Join(running, ", "))
	}
	return checkTypes(tasks, parent.Types)
}

// clashes gives an ID to each task without one. It returns the IDs that occur twice and the IDs of running children,
// both sorted.
func clashes(tasks []Task, parent Parent) (twice, running []string) {
	count := map[string]int{}
	for i := range tasks {
		if tasks[i].id == "" {
			tasks[i].id = parent.NextID()
		}
		count[tasks[i].id]++
	}
	for _, id := range slices.Sorted(maps.Keys(count)) {
		if count[id] > 1 {
			twice = append(twice, id)
		}
		if slices.Contains(parent.Running, id) {
			running = append(running, id)
		}
	}
	return twice, running
}

func checkTypes(tasks []Task, names []string) *Failure {
	known := make([]string, 0, len(names))
	for _, name := range names {
		known = append(known, strings.ToLower(name))
	}
	slices.Sort(known)
	there := strings.Join(known, ", ")
	if there == "" {
		there = "(none configured)"
	}
	for _, task := range tasks {
		if task.Type != "" && !slices.Contains(known, task.Type) {
			return OpSpawn.fail("Unknown subagent_type '%s' for task '%s'. Available subagent types: %s.", task.Type, task.id, there)
		}
	}
	return nil
}

// parseIDs turns the IDs into types, which MassGen does not do. It refuses a name that no file can have.
func parseIDs(tasks []Task) *Failure {
	for i := range tasks {
		id, err := delegation.ParseSubagentID(tasks[i].id)
		if err != nil {
			return OpSpawn.fail("Task at index %d: %v. Use letters, digits, '.', '_' and '-'.", i, err)
		}
		tasks[i].ID = id
	}
	return nil
}
