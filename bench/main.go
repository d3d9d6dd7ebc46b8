// Command bench compares actorlock with other ways to lock, on a Redis server
// that it starts for itself. See README.md for what it measures and how to read
// it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	only   *regexp.Regexp
	rounds int
	quick  bool
	list   bool
	json   string
	svg    string
}

// The rounds of a run, unless the command line says otherwise.
const (
	fullRounds  = 7
	quickRounds = 2
)

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	run := f.String("run", "", "only scenarios that match this `regexp`")
	f.IntVar(&o.rounds, "rounds", 0, fmt.Sprintf("`number` of rounds (default %d, quick %d; costly scenarios have fewer)", fullRounds, quickRounds))
	f.BoolVar(&o.quick, "quick", false, "short rounds and few keys: under a minute, to see that it works")
	f.BoolVar(&o.list, "list", false, "list the scenarios and exit")
	f.StringVar(&o.json, "json", "", "write all figures as JSON to this `file`; - is stdout, the table then goes to stderr")
	f.StringVar(&o.svg, "svg", "", "draw charts into this `directory`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.rounds < 0 {
		return o, errors.New("-rounds must be positive")
	}
	if o.rounds == 0 {
		if o.rounds = fullRounds; o.quick {
			o.rounds = quickRounds
		}
	}
	var err error
	o.only, err = regexp.Compile(*run)
	return o, err
}

// scenarios are those that were asked for.
func (o options) scenarios() []scenario {
	all := slices.Concat(pairs(), hotKeys(), []scenario{pollerGap()}, wakeUps(), heldKeys(o.quick),
		[]scenario{shutdown(o.quick)}, locals(), []scenario{hops()})
	return slices.DeleteFunc(all, func(s scenario) bool { return !o.only.MatchString(s.name) })
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	chosen := o.scenarios()
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario matches %q", o.only)
	}
	if o.list {
		for _, s := range chosen {
			fmt.Fprintf(stdout, "%-15s %s\n", s.name, s.title)
		}
		return nil
	}
	r, err := perform(ctx, o, chosen, stderr)
	// An interrupted run still shows what it has.
	if len(r.Scenarios) > 0 {
		err = errors.Join(err, publish(r, o, stdout, stderr))
	}
	if err == nil && r.Failed() {
		err = errors.New("some candidates failed")
	}
	return err
}

// perform runs the scenarios on a server of their own.
func perform(ctx context.Context, o options, chosen []scenario, stderr io.Writer) (*report.Report, error) {
	r := &report.Report{
		Date: time.Now(), Quick: o.quick,
		Machine: report.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()},
	}
	server, err := measure.StartServer()
	if err != nil {
		return r, err
	}
	if r.Machine.Redis, err = server.Version(ctx); err != nil {
		return r, errors.Join(err, server.Close())
	}
	b := &bench{server: server, rounds: o.rounds, quick: o.quick, say: newProgress(stderr, len(chosen))}
	for _, s := range chosen {
		var result report.Scenario
		if result, err = b.run(ctx, s); err != nil {
			err = fmt.Errorf("%s: %w", s.name, err)
			break
		}
		r.Scenarios = append(r.Scenarios, result)
	}
	r.Took = time.Since(r.Date).Round(time.Second).String()
	return r, errors.Join(err, server.Close())
}

// publish shows a report in the ways that were asked for.
func publish(r *report.Report, o options, stdout, stderr io.Writer) error {
	table := stdout
	var errs []error
	switch o.json {
	case "":
	case "-":
		table = stderr
		errs = append(errs, r.JSON(stdout))
	default:
		errs = append(errs, toFile(o.json, r.JSON))
	}
	errs = append(errs, r.Table(table))
	if o.svg != "" {
		paths, err := r.Draw(o.svg, charts())
		for _, p := range paths {
			fmt.Fprintln(stderr, "drawn:", p)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
