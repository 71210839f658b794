package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// healthCmd asks a node whether it can serve: the health check of an image that holds nothing but this program.
type healthCmd struct {
	URL string `name:"url" default:"http://127.0.0.1:9090/readyz" placeholder:"URL" help:"The probe to ask."`
}

// Run fails where the node cannot serve.
func (c *healthCmd) Run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", c.URL, resp.StatusCode)
	}
	return nil
}
