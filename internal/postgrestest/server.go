package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluicehq/sluice/internal/childproc"
)

// server is a Postgres and its folder.
type server struct {
	dir   string // of the socket; the data is in it
	attr  *syscall.SysProcAttr
	user  string
	child *childproc.Child
}

// start makes a database cluster and runs it.
func start() (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	// A unix socket's path may have 108 bytes, so the folder is not below a test's own.
	dir, err := os.MkdirTemp("", "sluice-pg-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, user: "sluice"}
	if err := s.init(bin); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) init(bin string) error {
	if os.Geteuid() == 0 {
		uid, gid, err := someUser()
		if err != nil {
			return err
		}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
		s.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	made := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", s.data(), "--username", s.user, "--auth=trust",
		"--no-sync", "--locale=C", "--encoding=UTF8")
	made.SysProcAttr, made.Dir = s.attr, s.dir
	if out, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s.run(bin)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// run starts the server and waits until it answers. Nothing is flushed to the disk: it need not survive the machine.
func (s *server) run(bin string) error {
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "shared_buffers=16MB",
		"-c", "log_min_messages=fatal")
	cmd.SysProcAttr, cmd.Dir = s.attr, s.dir
	var err error
	if s.child, err = childproc.Start(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-s.child.Ended():
			return fmt.Errorf("postgres ended at once: %s", s.child.Output())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("postgres does not answer: %w: %s", err, s.child.Output()), s.stop())
		case <-time.After(wait):
		}
	}
}

// url addresses one database as --database-url takes it.
func (s *server) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(s.user), Path: "/" + database, RawQuery: "host=" + url.QueryEscape(s.dir)}
	return u.String()
}

// exec runs one statement in the database "postgres".
func (s *server) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// stop ends the server as a crash does: nobody is let finish. It returns when all of its processes have gone.
func (s *server) stop() error {
	if s.child == nil {
		return nil
	}
	_ = s.child.Signal(syscall.SIGQUIT)
	select {
	case <-s.child.Ended():
	case <-time.After(10 * time.Second):
		s.child.Kill()
	}
	return nil
}

// signal sends sig to the server and to each process that serves a connection.
func (s *server) signal(sig syscall.Signal) error {
	pid := s.child.PID()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	errs := []error{s.child.Signal(sig)}
	for _, text := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(text)
		if err == nil {
			err = syscall.Kill(child, sig)
		}
		if !errors.Is(err, syscall.ESRCH) { // gone meanwhile
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *server) close() {
	_ = s.stop()
	_ = os.RemoveAll(s.dir)
}
