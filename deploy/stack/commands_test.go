package stack_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Docker is not to be had everywhere: what documents say to type names profiles and services of the compose file, and
// what these listen to.
func TestDocumentsNameWhatTheStackHas(t *testing.T) {
	t.Parallel()
	p := project(t)
	var profiles, ports []string
	for _, s := range p.Services {
		profiles = append(profiles, s.Profiles...)
		for _, port := range s.Ports {
			ports = append(ports, port.Published)
		}
	}
	compose, profile := regexp.MustCompile("docker compose ([^`\n#]*)"), regexp.MustCompile(`--profile[ =](\w+)`)
	flags := []string{"--profile", "--build", "--wait", "--detach", "--volumes"}
	verbs := []string{"up", "down", "ps", "logs", "stop", "start"}
	seen := 0
	look := func(path string) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range profile.FindAllStringSubmatch(string(raw), -1) {
			if !slices.Contains(profiles, m[1]) {
				t.Errorf("%s names the profile %s, which is not there", path, m[1])
			}
		}
		for _, m := range compose.FindAllStringSubmatch(string(raw), -1) {
			line, _, _ := strings.Cut(m[1], "   ") // behind it stands where to look
			for _, word := range strings.Fields(profile.ReplaceAllString(line, "")) {
				_, service := p.Services[word]
				if !service && !slices.Contains(flags, word) && !slices.Contains(verbs, word) {
					t.Errorf("%s: docker compose %s: what is %s?", path, line, word)
				}
			}
			seen++
		}
	}
	look(filepath.Join(root, "docker-compose.yml"))
	for _, m := range regexp.MustCompile(`http://localhost:(\d+)[^\n]*`).FindAllStringSubmatch(head(t), -1) {
		if !slices.Contains(ports, m[1]) {
			t.Errorf("docker-compose.yml leads to the port %s, at which nothing listens", m[1])
		}
	}
	for _, dir := range []string{"README.md", "docs/observability.md", "docs/operations.md", "deploy"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
				look(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 3 {
		t.Errorf("%d commands found", seen)
	}
}

// head is what stands above the compose file.
func head(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(raw), "\nname: ")
	return text
}
