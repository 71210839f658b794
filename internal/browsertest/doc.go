// Package browsertest gives tests a real browser: one headless Chromium for the whole test process, and a page with a
// profile of its own for each test. A page's test fails where the page logs an error, and where it asks any server but
// its own: what is served must need nothing from elsewhere.
//
// Where Chromium is missing, the test is skipped, and with CI=true it fails. A package that uses it ends the browser by
// Main.
//
// axe-core-4.14.1.min.js is the work of Deque Systems, unchanged (https://github.com/dequelabs/axe-core, version 4.14.1,
// Mozilla Public License 2.0); it looks for what people with a screen reader or a keyboard stumble over.
package browsertest
