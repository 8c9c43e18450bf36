"""Forty ways to try to make a page run what somebody wrote into a field."""

import pytest

# Each tries to break out of where text stands: an element, an attribute, an address, a script.
PAYLOADS = [
    "<script>alert(1)</script>",
    "<ScRiPt>alert(2)</sCrIpT>",
    "</title><script>alert(3)</script>",
    "</textarea><script>alert(4)</script>",
    "</style><script>alert(5)</script>",
    "</script><script>alert(6)</script>",
    "--><script>alert(7)</script>",
    "<![CDATA[<script>alert(8)</script>]]>",
    "<img src=x onerror=alert(9)>",
    "<img src=x onerror=alert`10`>",
    '"><img src=x onerror=alert(11)>',
    "'><img src=x onerror=alert(12)>",
    '" onmouseover=alert(13) x="',
    "' onfocus=alert(14) autofocus '",
    '" autofocus onfocus="alert(15)',
    "<svg onload=alert(16)>",
    "<svg/onload=alert(17)//",
    "<svg><script>alert(18)</script></svg>",
    "<svg><animate onbegin=alert(19) attributeName=x>",
    "<math><mtext></mtext><script>alert(20)</script>",
    "<body onload=alert(21)>",
    "<iframe src=javascript:alert(22)>",
    "<iframe srcdoc='<script>alert(23)</script>'>",
    "<object data=javascript:alert(24)>",
    "<embed src=javascript:alert(25)>",
    "<a href=javascript:alert(26)>press</a>",
    "<form action=javascript:alert(27)><button>pay</button></form>",
    "<input autofocus onfocus=alert(28)>",
    "<select autofocus onfocus=alert(29)>",
    "<details open ontoggle=alert(30)>",
    "<video><source onerror=alert(31)></video>",
    "<audio src onerror=alert(32)>",
    "<marquee onstart=alert(33)>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(34)'>",
    "<base href=javascript:alert(35)//>",
    "<link rel=stylesheet href=data:,*{x:expression(alert(36))}>",
    "{{constructor.constructor('alert(37)')()}}",
    "{% print(''.__class__.__mro__) %}${alert(38)}#{alert(38)}",
    "&lt;script&gt;alert(39)&lt;/script&gt;<x onclick=alert(39)>",
    "\u202e<script>alert(40)</script>\u2066",
]

# Where a browser tries each of them on several pages: ten in `make test`, all in `make faults`.
with_payloads = pytest.mark.parametrize(
    "payloads",
    [PAYLOADS[::4], pytest.param(PAYLOADS, marks=pytest.mark.campaign)],
    ids=["ten", "all"],
)
