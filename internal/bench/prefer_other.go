//go:build !linux

package bench

import "errors"

// prefer is not possible here.
func prefer(int) error { return errors.ErrUnsupported }
