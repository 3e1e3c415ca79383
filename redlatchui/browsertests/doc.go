// Package browsertests tries the page of package redlatchui in a browser without a screen, and takes the pictures of the
// documents. It is a module of its own: chromedp is no dependency of Redlatch.
package browsertests
