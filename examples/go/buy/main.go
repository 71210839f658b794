// Command buy lines up for an item, tells where it stands, and buys: go run ./examples/go/buy https://queue.example sku-1
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	sluice "github.com/sluicehq/sluice/examples/go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: buy https://queue.example item")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := buy(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func buy(ctx context.Context, url, item string) error {
	client, err := sluice.New(sluice.Options{URL: url})
	if err != nil {
		return err
	}
	answer, err := client.Wait(ctx, item, func(a sluice.Answer) {
		if a.Place != nil && a.Place.Position != nil {
			fmt.Println("position", *a.Place.Position)
		}
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", answer.Action, answer.Reason)
	if answer.Pass == nil {
		return nil // free for all, or not to be had
	}
	fmt.Println("inside until", answer.Pass.ExpiresAt.Local().Format("15:04:05"))
	if err := client.Finish(ctx, item); err != nil {
		return err
	}
	fmt.Println("bought")
	return nil
}
