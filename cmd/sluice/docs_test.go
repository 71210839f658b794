package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sluicehq/sluice/internal/config"
)

// commandsIn are the commands of this program that a text in Markdown shows, in code spans and in fenced blocks.
func commandsIn(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("`(?:go run \\./cmd/)?sluice ([a-z][^`\n]*)`").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	for _, block := range fences.FindAllStringSubmatch(text, -1) {
		if kind, _, _ := strings.Cut(block[1], " "); !slices.Contains([]string{"", "sh", "console", "bash"}, kind) {
			continue
		}
		joined := strings.ReplaceAll(block[2], "\\\n", " ")
		for _, m := range regexp.MustCompile(`(?m)(?:^|[|&;]\s*|\$ )(?:go run \./cmd/)?sluice ([a-z].*)$`).FindAllStringSubmatch(joined, -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// unknown gives the first word of a command line that the program does not know; "" = it knows all.
func unknown(model *kong.Application, line string) string {
	line, _, _ = strings.Cut(line, " #")
	line = strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune("|><;&", c) })[0]
	node := model.Node
	flags := slices.Concat(node.Flags)
	for _, word := range strings.Fields(line) {
		switch {
		case strings.HasPrefix(word, "-"):
			name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
			if !slices.ContainsFunc(flags, func(f *kong.Flag) bool {
				return f.Name == name || name == "no-"+f.Name || string(f.Short) == name
			}) {
				return word
			}
		case len(node.Children) > 0:
			at := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
			if at < 0 && !slices.ContainsFunc(node.Children, func(c *kong.Node) bool { return node.DefaultCmd == c }) {
				return word
			}
			if at >= 0 {
				node = node.Children[at]
				flags = append(flags, node.Flags...)
			} else {
				node = node.DefaultCmd
				flags = append(flags, node.Flags...)
			}
		}
	}
	return ""
}

// Whatever the documents name of this program is there: each command, subcommand and flag.
func TestCommandsInTheDocumentsAreThere(t *testing.T) {
	t.Parallel()
	sources := &config.Sources{}
	parser, err := kong.New(&commands{}, append(sources.Options(), kong.Name("sluice"), kong.Vars{"version": ""}, kong.Writers(io.Discard, io.Discard))...)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range commandsIn(string(text)) {
			seen++
			if word := unknown(parser.Model, line); word != "" {
				t.Errorf("%s shows `sluice %s`: there is no %s", path, line, word)
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d commands, %v", seen, err)
	}
}
