package console

import (
	"strings"

	"github.com/sluicehq/sluice/queue"
)

// visitorBody is where one visitor stands.
type visitorBody struct {
	Item  queue.Item
	By    string // ref or user
	Asked string
	Fault string
	Found bool
	queue.Standing
	Visitor queue.Visitor
	How     string // of the admission
}

// visitorOf finds the visitor that the reader names: by id or short reference, or by a server's user id.
func (c *Console) visitorOf(p *page, item queue.Item, by, asked string) (queue.Visitor, error) {
	if by == "user" {
		return c.o.Admin.VisitorOfUser(asked)
	}
	return c.o.Admin.VisitorOfRef(p.gin.Request.Context(), item, strings.TrimSpace(asked))
}

// visitor is GET /items/{item}/visitor?by=&q=: the page of the item, with where a visitor stands.
func (c *Console) visitor(p *page) error {
	item, err := p.itemOf()
	if err != nil {
		return err
	}
	b := c.itemBody(p, item)
	if b.History, err = c.history(p, item); err != nil {
		return err
	}
	b.Visitor = c.visitorBody(p, item, p.gin.Query("by"), p.gin.Query("q"))
	return p.showItem(b)
}

func (c *Console) visitorBody(p *page, item queue.Item, by, asked string) visitorBody {
	b := visitorBody{Item: item, By: by, Asked: asked}
	v, err := c.visitorOf(p, item, by, asked)
	if err != nil {
		b.Fault = p.faultText(err)
		return b
	}
	if b.Standing, err = c.o.Line.Find(p.gin.Request.Context(), item, v); err != nil {
		b.Fault = p.faultText(err)
		return b
	}
	b.Found, b.Visitor = true, v
	switch b.Admission.Kind {
	case queue.Let:
		b.How = p.Text("visitor.how.admitted")
	case queue.Graced:
		b.How = p.Text("visitor.how.grace")
	case queue.Carried:
		b.How = p.Text("visitor.how.carried")
	}
	return b
}

// revoke is POST /items/{item}/visitor: ends the place or the session.
func (c *Console) revoke(p *page) error {
	item, err := p.itemOf()
	if err != nil {
		return err
	}
	v, err := queue.ParseVisitor(p.form().Get("visitor"))
	if err != nil {
		return err
	}
	if _, err := c.o.Admin.Revoke(p.gin.Request.Context(), p.Who, item, v); err != nil {
		return err
	}
	return p.redirect(itemPath(item) + "?done=revoked")
}
