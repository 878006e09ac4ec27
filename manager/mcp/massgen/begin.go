package massgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/paths"
	"torno/manager"
	mg "torno/manager/massgen"
	"torno/manager/massgen/carry"
	"torno/manager/massgen/handover"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/modes"
	"torno/manager/massgen/profile"
	"torno/manager/massgen/team"
	"torno/manager/mcp"
)

// terms hold the settings that all tasks of a call share.
type terms struct {
	refine     bool
	background bool
	continued  bool // it goes on in the workspace of an earlier run
	types      []profile.Profile
}

// begun is a task of a call: its child, or the reason why there is none.
type begun struct {
	kid
	id         delegation.SubagentID
	workspace  string
	statusFile string
	session    bool   // it goes on with an earlier conversation
	failure    string // "" if there is a child
}

// order is a child that is being prepared.
type order struct {
	*begun
	task   mg.Task
	terms  terms
	beat   delegation.Heartbeat
	outbox string
	kind   profile.Profile
	old    *layout.Entry // the entry of the earlier run
	here   bool          // outside a sandbox
	own    bool          // the workspace lies below the parent's, where MassGen puts it
	mcp.Task
}

// begin asks for the child of a task. A mistake in one task fails only that task.
func (h *home) begin(ctx context.Context, desk *yard, task mg.Task, t terms) *begun {
	b := &begun{id: task.ID, kid: kid{
		kind: task.Type, task: layout.Preview(task.Task), background: t.background, blocking: !t.background,
		timeout: h.settings.Clamp(task.Timeout), began: time.Now(),
	}}
	if err := h.order(ctx, desk, &order{begun: b, task: task, terms: t}); err != nil {
		b.failure = desk.Why(err)
	}
	return b
}

func (h *home) order(ctx context.Context, desk *yard, o *order) error {
	if err := h.free(desk, o.id.String()); err != nil {
		return err
	}
	beat, nobody := desk.Watcher()
	if h.settings.NoOutbox {
		nobody = nil // the desk has an empty directory, which the texts must not name
	}
	way, err := h.settings.Choose(modes.Host{InContainer: h.settings.InContainer, Outbox: !h.settings.NoOutbox, Nobody: nobody})
	if err != nil {
		return err
	}
	if way.Mode != modes.Delegated {
		return h.orderHere(ctx, desk, o, way)
	}
	o.beat, o.outbox, o.Profile = beat, desk.Outbox(), h.profileOf(beat.Profiles)
	if o.Profile == "" {
		return errors.New("the host offers no profile with an agent. Ask the user for one (agent: claude, for instance), or for the option --profile NAME")
	}
	h.place(desk, o)
	o.ID, o.Timeout, o.Model = o.id.String(), time.Duration(o.timeout)*time.Second, o.task.Model
	for _, prepare := range []func(context.Context, *order) error{h.readable, h.prompt, h.team, h.furnish} {
		if err := prepare(ctx, o); err != nil {
			return err
		}
	}
	if err := h.register(o); err != nil {
		return err
	}
	if o.own {
		if err := h.withTree(func(_ *os.Root, tree *layout.Tree) error { return tree.NoteSandbox(o.id) }); err != nil {
			return errors.Join(err, h.unregister(o))
		}
	}
	child, err := desk.Spawn(ctx, o.Task)
	if err != nil {
		return errors.Join(err, h.unregister(o))
	}
	o.request, o.workspace, o.profile = child.RequestID, child.Workspace, o.Profile
	o.warnings = append(o.warnings, child.Warnings...)
	if err := h.keepTask(o); err != nil {
		o.warnings = append(o.warnings, mcp.Words("the whole task was not kept, so continue_subagent has its beginning alone: "+err.Error()))
	}
	h.remember(o.ID, o.kid)
	h.forgetLocal(o.ID)
	return nil
}

// free fails if the last result of a subagent has not been shown yet, because the next run would overwrite it.
func (h *home) free(desk *yard, id string) error {
	child, err := desk.Look(id)
	switch {
	case errors.Is(err, manager.ErrNoRun):
		return nil
	case err != nil:
		return err
	case child.Ended() && !child.Taken && !h.wasShown(child.RequestID):
		return fmt.Errorf("subagent %s has a result that you have not got yet. It comes with this answer, or custom_tool__get_background_tool_result has it; then call again", mcp.Words(id))
	}
	return nil
}

// profileOf chooses the host's profile: the profile in the settings, otherwise the profile called massgen, otherwise
// the first with an agent.
func (h *home) profileOf(offers []delegation.ProfileOffer) string {
	if h.settings.Profile != "" {
		return h.settings.Profile
	}
	for _, fits := range []func(delegation.ProfileOffer) bool{
		func(o delegation.ProfileOffer) bool { return o.Name == "massgen" },
		func(o delegation.ProfileOffer) bool { return o.Agent != "" },
	} {
		if i := slices.IndexFunc(offers, fits); i >= 0 {
			return offers[i].Name
		}
	}
	return ""
}

// place chooses the workspace. If the host allows workspaces in MassGen's own place, it takes that; otherwise it takes
// the outbox's.
func (h *home) place(desk *yard, o *order) {
	own := layout.WorkspacePath(h.settings.Workspace, o.id)
	o.own = inside(desk.Outbox(), o.beat.Workspaces, own)
	o.workspace = filepath.Join(desk.Outbox(), "workspaces", o.id.String())
	if o.own {
		o.workspace, o.Workspace = own, own
	}
	o.statusFile = h.statusFile(o.id)
}

// inside reports whether a path lies in one of the host's places. A relative place is relative to the outbox.
func inside(outbox string, places []string, path string) bool {
	return slices.ContainsFunc(places, func(place string) bool {
		if !filepath.IsAbs(place) {
			place = filepath.Join(outbox, place)
		}
		return paths.Within(filepath.Clean(place), path)
	})
}

// readable sets the places that the child may read. A task gets the parent's workspace and the peers' workspaces by
// default. If the host does not allow such a place, readable leaves it out with a warning. A place that the task names
// itself stays in; the host may refuse it.
func (h *home) readable(_ context.Context, o *order) error {
	parent := handover.Parent{Workspace: h.settings.Workspace, Temp: h.settings.Temp, ContextPaths: h.settings.ContextPaths}
	usual := func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err == nil && (o.here || inside(o.outbox, o.beat.Context, real))
	}
	task := o.task
	for _, place := range []struct {
		path string
		give *bool
		what string
	}{{h.settings.Workspace, &task.IncludeParent, "your workspace"}, {h.settings.Temp, &task.IncludeTemp, "the workspaces of your peers"}} {
		if place.path != "" && *place.give && !usual(place.path) {
			*place.give = false
			o.warnings = append(o.warnings, fmt.Sprintf("The subagent cannot read %s (%s): the host gives no such place. CONTEXT.md and context_files are copied into its own.", place.what, mcp.Words(place.path)))
		}
	}
	if parent.Temp != "" && !usual(parent.Temp) {
		parent.Temp = "" // an evaluator would get it in any case, and it may not exist
	}
	places, err := handover.Places(task, parent, filepath.EvalSymlinks)
	for _, place := range places {
		o.Context = append(o.Context, place.Path)
	}
	return err
}

// prompt writes the task's whole text.
func (h *home) prompt(_ context.Context, o *order) error {
	root, err := os.OpenRoot(h.settings.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	about, warning, err := handover.ReadContext(root)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(o.terms.types, func(p profile.Profile) bool { return strings.EqualFold(p.Name, o.task.Type) }); i >= 0 && o.task.Type != "" {
		o.kind = o.terms.types[i]
	}
	if warning != "" {
		o.warnings = append(o.warnings, warning)
	}
	system, err := systemPrompt(o.kind, o.task)
	o.Text = handover.Prompt(system, about, o.task.Task)
	return err
}

// systemPrompt returns the text before a task: the kind's prompt, the task's own, the skills, and for a round's
// evaluator the personas.
func systemPrompt(kind profile.Profile, task mg.Task) (string, error) {
	var parts []string
	for _, part := range []string{kind.SystemPrompt, task.SystemPrompt} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if skills := append(slices.Clone(kind.Skills), task.Skills...); len(skills) > 0 {
		parts = append(parts, "Use these skills where you have them: "+strings.Join(skills, ", ")+".")
	}
	if personas := task.Metadata["evaluator_personas"]; personas != nil && task.Type == handover.RoundEvaluator {
		text, err := json.Marshal(personas)
		if err != nil {
			return "", err
		}
		parts = append(parts, "Judge as each of these evaluators in turn: "+string(text))
	}
	return strings.Join(parts, "\n\n"), nil
}

// team writes the child's run configuration, with the directories as the child sees them.
func (h *home) team(_ context.Context, o *order) error {
	settings := h.settings.Orchestrator
	agents, err := team.Resolve(o.task.Type, settings.Orchestrator, h.settings.Agents, h.settings.AgentID)
	if err != nil {
		return err
	}
	child := team.Child{
		ID: o.ID, Workspace: o.workspace, Type: o.task.Type, Agents: agents, Refine: o.terms.refine, TaskModel: o.task.Model,
		MaxNewAnswers: settings.MaxNewAnswers, AnswerStrategy: settings.AnswerStrategy, SkipSynthesis: settings.SkipSynthesis,
		Coordination: settings.Coordination, Injection: settings.Injection, VotesAtOnce: settings.VotesAtOnce,
	}
	if !o.own {
		child.Workspace = "/workspace" // where the child sees the outbox's workspace
	}
	if len(h.settings.Rounds) > 0 {
		child.Rounds = h.settings.Rounds
	}
	for _, path := range o.Context {
		child.ContextPaths = append(child.ContextPaths, map[string]any{"path": path, "permission": "read"})
	}
	o.YAMLConfig = team.Config(child)
	return nil
}

// furnish puts the child's files into its workspace, or lets the desk do so.
func (h *home) furnish(ctx context.Context, o *order) error {
	files, err := handover.Files(o.task)
	if err != nil {
		return err
	}
	fill := func(ctx context.Context, into *os.Root) error { return h.fill(ctx, o, files, into) }
	if !o.own {
		o.Fill = fill
		return nil
	}
	return h.withTree(func(_ *os.Root, tree *layout.Tree) error {
		into, err := tree.Workspace(o.id)
		if err != nil {
			return err
		}
		defer into.Close()
		return fill(ctx, into)
	})
}

func (h *home) fill(ctx context.Context, o *order, files []string, into *os.Root) error {
	from, err := os.OpenRoot(h.settings.Workspace)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, name := range append([]string{handover.ContextFile}, files...) {
		copied, err := carry.Any(ctx, from, name, into, carry.DefaultLimits)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no context file %s in your workspace", mcp.Words(name))
		}
		if err != nil {
			return fmt.Errorf("copy the context file %s: %w", name, err)
		}
		for _, left := range copied.Left {
			o.warnings = append(o.warnings, mcp.Words("not copied: "+left))
		}
	}
	data, err := json.MarshalIndent(o.YAMLConfig, "", "  ") // JSON is also YAML
	if err != nil {
		return err
	}
	return carry.Put(into, o.config(), data)
}

// config returns the name of the child's run configuration in its workspace. A child in a sandbox does not read it: the
// host writes its own. It is for MassGen's screens.
func (o *order) config() string { return fmt.Sprintf("subagent_config_%s.yaml", o.id) }
