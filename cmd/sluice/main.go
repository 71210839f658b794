// Command sluice is a virtual waiting room. One file of this package holds one command; main only finds it and says in
// one line what went wrong.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/sluicehq/sluice/internal/config"
)

// commands are what the program can do.
type commands struct {
	Version kong.VersionFlag `help:"Show the version."`

	Serve   serveCmd   `cmd:"" help:"Run a node."`
	Demo    demoCmd    `cmd:"" help:"Show everything in one process, in under a minute: a shop, a crowd, a queue."`
	Replay  replayCmd  `cmd:"" help:"Replay traffic logs and say what would have happened."`
	Migrate migrateCmd `cmd:"" help:"Bring the SQL schema up to date, undo a step, or list the steps."`
	Apply   applyCmd   `cmd:"" help:"Bring the policies to what a file says, all or nothing."`
	Token   tokenCmd   `cmd:"" help:"Make, list and delete API tokens."`
	User    userCmd    `cmd:"" help:"Make, list and remove the people who sign in."`
	Key     keyCmd     `cmd:"" help:"List and rotate the keys of passes; id and secret of connectors."`
	Health  healthCmd  `cmd:"" help:"Ask a node whether it can serve; fails where it cannot."`
	Bench   benchCmd   `cmd:"" help:"Measure: load against nodes and a store that it starts, beside a bare server."`
}

// Exit codes.
const (
	exitFailed = 1 // the command ran and failed
	exitUsage  = 2 // a flag, a setting or a command that cannot be
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is main without the process: it gives the exit code.
func run(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	shown := false // --help or --version has been answered
	sources := &config.Sources{Environ: environ}
	options := append(sources.Options(),
		kong.Name("sluice"),
		kong.Description("A virtual waiting room: queues that turn themselves on, let people in at the rate that your service bears, and tell everybody where they stand."),
		kong.Vars{"version": version()},
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { shown = true }),
		kong.BindTo(stdout, (*io.Writer)(nil)), // a command's Run may take the io.Writer that it prints to
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
	)
	parser, err := kong.New(&commands{}, options...)
	if err != nil {
		fmt.Fprintf(stderr, "sluice: %v\n", err)
		return exitUsage
	}
	ctx, err := parser.Parse(args)
	if shown {
		return 0
	}
	if err == nil {
		err = ctx.Run()
		if err == nil {
			return 0
		}
		fmt.Fprintf(stderr, "sluice: %v\n", err)
		if wrong := new(config.Error); errors.As(err, &wrong) {
			return exitUsage
		}
		return exitFailed
	}
	fmt.Fprintf(stderr, "sluice: %v\n", err)
	return exitUsage
}

// version is the module's version and what it was built with and for.
func version() string {
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("sluice %s (%s, %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
