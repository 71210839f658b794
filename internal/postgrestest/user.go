package postgrestest

import (
	"errors"
	"os/user"
	"strconv"
)

// someUser finds a user without rights to run the server as: the distribution's own for Postgres, else nobody.
func someUser() (uid, gid int, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, lookErr := user.Lookup(name)
		if lookErr != nil {
			err = errors.Join(err, lookErr)
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil {
			return uid, gid, nil
		}
		err = errors.Join(err, uidErr, gidErr)
	}
	return 0, 0, err
}
