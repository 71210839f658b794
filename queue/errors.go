package queue

import (
	"errors"

	"github.com/sluicehq/sluice/internal/fault"
)

// ErrDamaged says that what the store keeps of an item is not what a line writes. It is that item's trouble alone, and
// for the log only; Switch with Restore mends it.
var ErrDamaged = errors.New("what the store keeps of the item is damaged")

// What a line, a policy or an item id can be refused for.
var (
	ErrInvalidItem    = fault.New("invalid_item", "An item id is 1 to 128 characters of A-Z a-z 0-9 . _ ~ : @ -.")
	ErrInvalidVisitor = fault.New("invalid_visitor", "A visitor id is 16 to 22 characters of A-Z a-z 0-9 _ -.")
	ErrInvalidPattern = fault.New("invalid_pattern", "A pattern is an item id in which * stands for any characters, 1 to 128 characters.")
	ErrInvalidPolicy  = fault.New("invalid_policy", "The policy has a field out of range.")
	ErrNoPlace        = fault.New("no_place", "You have no place in this line.")
	ErrWrongState     = fault.New("wrong_state", "The queue is not in a state that allows this.")
	ErrModeFixed      = fault.New("mode_fixed", "The policy of this item fixes its queue on or off.")
	ErrStoreDown      = fault.New("store_down", "The store of the line cannot be reached.")
)
