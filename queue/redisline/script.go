package redisline

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue"
)

//go:embed lua/*.lua
var sources embed.FS

// NewScript makes a script of a body, the prelude that all scripts of a line share (lua/prelude.lua), and those parts
// between the two that the body needs: a call makes every function anew that its script holds.
func NewScript(body string, parts ...string) *redis.Script {
	text := source("prelude")
	for _, part := range parts {
		text += source(part)
	}
	return redis.NewScript(text + body)
}

func source(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // embedded: cannot be absent in a program that was built
	}
	return string(b)
}

var (
	joinScript   = NewScript(source("join"))
	touchScript  = NewScript(source("touch"))
	endScript    = NewScript(source("end"))
	recallScript = NewScript(source("recall"))
	stepScript   = NewScript(source("step"), "windows", "turns", "story")
	switchScript = NewScript(source("switch"), "windows", "turns", "story", "mends")
	mendScript   = NewScript(source("mend"), "mends")
)

// Scripts names the scripts by their digests.
func Scripts() map[string]string {
	return map[string]string{
		joinScript.Hash(): "join", touchScript.Hash(): "touch", endScript.Hash(): "end", recallScript.Hash(): "recall",
		stepScript.Hash(): "step", switchScript.Hash(): "switch", mendScript.Hash(): "mend", announceScript.Hash(): "announce",
	}
}

// errAway is why a call was not made: the server that keeps the item is known to be down.
var errAway = errors.New("the server that keeps the item does not answer")

// run calls a script and gives the parts of its answer. The client of a cluster may send it more than once.
func (l *Line) run(ctx context.Context, s *redis.Script, item queue.Item, keys []string, args ...any) (reply, error) {
	if l.away(keys[0]) {
		return nil, fmt.Errorf("item %s: %w", item, Fault(errAway))
	}
	got, err := s.Run(ctx, l.client, keys, args...).Slice()
	if err = Fault(err); errors.Is(err, queue.ErrDamaged) && l.Mend(ctx, item) == nil {
		got, err = s.Run(ctx, l.client, keys, args...).Slice()
		err = Fault(err)
	}
	if err != nil {
		return nil, fmt.Errorf("item %s: %w", item, err)
	}
	return reply(got), nil
}

// RunMany calls a script n times in one round trip, the i-th time with the keys and arguments that call gives. Each command
// that comes back has its own error: of one whose server is known to be down, without having been sent. A server that
// has forgotten the script, or never had it, is given it again.
func (l *Line) RunMany(ctx context.Context, s *redis.Script, n int, call func(i int) (keys []string, args []any)) []*redis.Cmd {
	cmds := make([]*redis.Cmd, n)
	var all, again []int
	for i := range n {
		all = append(all, i)
	}
	l.pipe(ctx, s.EvalSha, all, cmds, call)
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			again = append(again, i)
		}
	}
	if len(again) > 0 {
		// With its whole text, which goes to the server that lacks it; SCRIPT LOAD would need every server of a cluster.
		l.pipe(ctx, s.Eval, again, cmds, call)
	}
	return cmds
}

// pipe fills the commands of the calls which are listed.
func (l *Line) pipe(ctx context.Context, eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd, which []int, cmds []*redis.Cmd,
	call func(i int) (keys []string, args []any)) {
	pipe := l.client.Pipeline()
	for _, i := range which {
		keys, args := call(i)
		if l.away(keys[0]) {
			cmds[i] = redis.NewCmd(ctx)
			cmds[i].SetErr(errAway)
			continue
		}
		cmds[i] = eval(ctx, pipe, keys, args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
}

// unable are the answers of a server that cannot serve for now; what else it answers is the item's own trouble.
var unable = []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "OOM", "NOREPLICAS", "TRYAGAIN", "BUSY", "MISCONF"}

// Fault makes queue.ErrStoreDown of an error that says that the store cannot be reached or cannot serve,
// queue.ErrDamaged of one that says that a key is not what a line writes, and leaves any other as it is.
func Fault(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	var answered redis.Error
	if !errors.As(err, &answered) {
		return queue.ErrStoreDown.Because(err)
	}
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", queue.ErrDamaged, err)
	}
	for _, prefix := range unable {
		if redis.HasErrorPrefix(err, prefix) {
			return queue.ErrStoreDown.Because(err)
		}
	}
	var network net.Error
	if errors.As(err, &network) {
		return queue.ErrStoreDown.Because(err)
	}
	return err
}
