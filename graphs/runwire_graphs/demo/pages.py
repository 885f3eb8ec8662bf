"""The pages of the demo site: a shop with a table of prices, an order form, and a page long enough to scroll."""

from collections.abc import Callable, Mapping
from html import escape

Fields = Mapping[str, str]

STYLE = """
body { font: 17px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1d2733 }
nav a { margin-right: 1rem } a { color: #0b5cad } h1 { color: #123 }
table { border-collapse: collapse } td, th { border: 1px solid #b8c4d0; padding: .35rem .8rem; text-align: left }
label { display: block; margin: .8rem 0 .2rem } input, select { font: inherit; padding: .3rem; width: 18rem }
button { font: inherit; margin-top: 1rem; padding: .4rem 1.2rem; background: #0b5cad; color: white; border: 0 }
"""
LINKS = {"/": "Home", "/prices": "Prices", "/order": "Order", "/about": "About us", "/story": "Story"}
PRICES = {
    "Green tea": ("Uji", 12.5, "in stock"),
    "Black tea": ("Assam", 9.0, "in stock"),
    "White tea": ("Fuding", 18.25, "sold out"),
    "Oolong": ("Anxi", 15.75, "in stock"),
}


def page(title: str, body: str) -> str:
    nav = " ".join(f'<a href="{path}">{name}</a>' for path, name in LINKS.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><nav>{nav}</nav><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )


def home(fields: Fields) -> str:
    return page(
        "The Tea House",
        "<p>A small shop that exists only on this machine. Browse the <a href='/prices'>price list</a>, "
        "<a href='/order'>place an order</a> or read our <a href='/story'>story</a>.</p>",
    )


def prices(fields: Fields) -> str:
    rows = "".join(
        f"<tr><td>{tea}</td><td>{origin}</td><td>{price:.2f}</td><td>{stock}</td></tr>"
        for tea, (origin, price, stock) in PRICES.items()
    )
    head = "<tr><th>Tea</th><th>Origin</th><th>Price</th><th>Stock</th></tr>"
    return page("Prices", f"<table>{head}{rows}</table><p>All prices per 100 g.</p>")


def order(fields: Fields) -> str:
    options = "".join(f"<option>{tea}</option>" for tea in PRICES)
    return page(
        "Order",
        "<form action='/thanks' method='get'>"
        "<label for='name'>Your name</label><input id='name' name='name'>"
        f"<label for='tea'>Tea</label><select id='tea' name='tea'>{options}</select>"
        "<label for='amount'>Amount</label><input id='amount' name='amount' value='1'>"
        "<br><button>Send order</button></form>",
    )


def thanks(fields: Fields) -> str:
    told = {key: escape(fields.get(key, "").strip()) for key in ("name", "tea", "amount")}
    return page("Thank you", f"<p>{told['name'] or 'Stranger'} ordered {told['amount']} of {told['tea']}.</p>")


def about(fields: Fields) -> str:
    return page("About us", "<p>Opened in 1987 by Mio and Jun. Open from 9 to 17, closed on Mondays.</p>")


def story(fields: Fields) -> str:
    years = "".join(f"<h2>{1987 + year}</h2><p>Harvest number {year + 1} was brought in.</p>" for year in range(40))
    return page("Story", f"{years}<p id='end'>And that is where we are now.</p>")


PAGES: dict[str, Callable[[Fields], str]] = {
    "/": home,
    "/prices": prices,
    "/order": order,
    "/thanks": thanks,
    "/about": about,
    "/story": story,
}
