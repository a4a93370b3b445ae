"""Crawls the web that `webloom bench web` serves with Scrapy, and prints pages and seconds as JSON.

    webloom bench web --pages 20000 --hosts 2000 > web.txt &      # its first line is *=ADDRESS:PORT
    python crawl_scrapy.py ADDRESS:PORT SEED_URL [DELAY_SECONDS] [PAGES_MAX]

The same politeness as Webloom's: robots.txt obeyed, one request per host at a time, the delay between two. All hosts are at
ADDRESS, so the downloader is led there and the host stays in the header.
"""

import json
import sys
import time

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

address, seed = sys.argv[1:3]
delay = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
pages_max = int(sys.argv[4]) if len(sys.argv) > 4 else 0
host, port = address.rsplit(":", 1)


class Here(CachingThreadedResolver):
    """Finds every host where the server is."""

    def getHostByName(self, name, timeout=None):
        return defer.succeed(host)


class ToThePort:
    """Every URL means port 80, which the server does not have: the port is put in, and taken out of the Host header."""

    def process_request(self, request, spider):
        name = request.url.split("/")[2]
        if name.endswith(f":{port}"):
            # robots.txt, which is asked for where its page is.
            request.headers.setdefault("Host", name.removesuffix(f":{port}"))
            return None
        moved = request.url.replace(f"//{name}", f"//{name}:{port}", 1)
        headers = request.headers.copy()
        headers["Host"] = name
        return request.replace(url=moved, headers=headers, dont_filter=True)


class Everything(scrapy.Spider):
    name = "everything"
    start_urls = [seed]
    pages = 0

    def parse(self, response):
        self.pages += 1
        if isinstance(response, scrapy.http.HtmlResponse):
            for link in response.css("a:not([rel~=nofollow])::attr(href)").getall():
                target = response.urljoin(link).replace(f":{port}", "", 1)
                if target.startswith("http"):
                    yield scrapy.Request(target)


settings = {
    "LOG_LEVEL": "ERROR",
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 256,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": delay,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "DNS_RESOLVER": Here,
    "REACTOR_THREADPOOL_MAXSIZE": 4,
    "TELNETCONSOLE_ENABLED": False,
    "CLOSESPIDER_PAGECOUNT": pages_max,
    "DOWNLOADER_MIDDLEWARES": {ToThePort: 50},
}
process = CrawlerProcess(settings)
crawler = process.create_crawler(Everything)
started = time.monotonic()
process.crawl(crawler)
process.start()
seconds = time.monotonic() - started
pages = crawler.spider.pages if crawler.spider else 0
print(json.dumps({"name": f"Scrapy {scrapy.__version__}", "pages": pages, "seconds": round(seconds, 2),
                  "pages_per_second": round(pages / seconds, 1)}))
