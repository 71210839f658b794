package console

import "github.com/sluicehq/sluice/queue"

// saleLine is the running or next sale of an item, as its page shows it; the zero value = none.
type saleLine struct{ ID, Name string }

func (c *Console) saleOf(queue.Item) saleLine { return saleLine{} }
