"""Leads Chromium through a page as somebody with a keyboard and no scripts does, and makes pictures of what he sees.

  pages.py FOLDER NAME URL [KEYS]…      KEYS: `tab`, `enter` (which leads to another page), or `type:TEXT`

Writes FOLDER/NAME-360.png and FOLDER/NAME-1280.png of the first page, FOLDER/NAME-after-… of the last one, and prints one
line of JSON: {"first", "last"}, each {"title", "text", "url", "focus"}.
"""
import json
import sys
import time

import chromium


def pictures(browser, folder, name):
    for width, height in ((360, 740), (1280, 800)):
        browser.screen(width, height)
        browser.shoot(f"{folder}/{name}-{width}.png")


def press(browser, keys):
    if keys == "tab":
        browser.press("Tab")
    elif keys == "enter":
        browser.leave(lambda: browser.press("Enter"))
    else:
        browser.type(keys.removeprefix("type:"))


def seen(browser):
    """What a screen reader is told. A field that has the focus from the start gets it a frame or two after the page."""
    end = time.monotonic() + 2
    while True:
        page = look(browser)
        if page["focus"] or time.monotonic() > end:
            return page
        time.sleep(0.05)


def look(browser):
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]

    def role(node):
        return node.get("role", {}).get("value")

    def name(node):
        return node.get("name", {}).get("value")

    def has_focus(node):
        return any(p["name"] == "focused" and p["value"]["value"] for p in node.get("properties", []))
    texts = [name(n) for n in nodes if role(n) == "StaticText" and name(n)]
    focus = [name(n) for n in nodes if has_focus(n) and role(n) != "RootWebArea"]
    title = next((name(n) for n in nodes if role(n) == "RootWebArea"), "")
    url = browser.call("Page.getFrameTree")["frameTree"]["frame"]["url"]
    return {"title": title, "text": " ".join(texts), "url": url, "focus": focus[0] if focus else None}


def main():
    folder, name, url, *keys = sys.argv[1:]
    browser = chromium.Chromium(chromium.find() or sys.exit("there is no Chromium"))
    try:
        browser.scripts(False)
        browser.open(url)
        first = seen(browser)
        pictures(browser, folder, name)
        for one in keys:
            press(browser, one)
        last = seen(browser)
        if keys:
            pictures(browser, folder, name + "-after")
        print(json.dumps({"first": first, "last": last}))
    finally:
        browser.close()


if __name__ == "__main__":
    main()
