# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium without a window, for the pages that place-probe writes: what they show, say and ask the network for."""

import json

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from . import machine

ARGUMENTS = ["--headless=new", "--no-sandbox", "--window-size=1200,900", "--disable-gpu", "--disable-dev-shm-usage",
             "--force-device-scale-factor=1", "--disable-background-networking", "--disable-component-update",
             "--no-first-run"]
# The page says when its script is done. Two frames later what that has drawn is on the screen.
WHEN_SHOWN = """const done = arguments[arguments.length - 1];
const look = () => document.documentElement.dataset.drawn ?
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))) : setTimeout(look, 1);
look();"""


class Browser:
    """One page at a time."""

    def __init__(self, directory):
        options = Options()
        for argument in [*ARGUMENTS, f"--user-data-dir={directory}"]:
            options.add_argument(argument)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        self.driver.set_page_load_timeout(100 * machine.SCALE)
        self.driver.set_script_timeout(60 * machine.SCALE)

    def open(self, path):
        """When it was on the screen, in ms since it was asked for; see also work_ms()."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(f"file://{path}")
        return self.shown()

    def work_ms(self):
        """What the thread that reads, runs and lays out the page has had of a CPU for it, however busy the machine."""
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")

    def shown(self):
        return self.driver.execute_async_script(WHEN_SHOWN)

    def dark(self, dark):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """What was asked for, but for the page itself and what is in it."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if url != self.driver.current_url and not url.startswith("data:")]

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0]).textContent", selector)

    def style(self, element, name):
        return element.value_of_css_property(name)

    def point_at(self, element):
        ActionChains(self.driver).move_to_element(element).perform()

    def press(self, *keys):
        """To whatever has the focus."""
        ActionChains(self.driver).send_keys(*[getattr(Keys, key, key) for key in keys]).perform()
        self.shown()

    def choose(self, selector, words):
        Select(self.one(selector)).select_by_visible_text(words)
        self.shown()

    def close(self):
        self.driver.quit()
