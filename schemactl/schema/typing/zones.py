"""Time zones by the ids that Java's ``ZoneId.of`` takes, and by their names in American English (``z`` and ``zzzz``).

Names of several regions mean the one that Java 25 prefers (``CST`` is Chicago); ids of regions are not among them.
Parsed with ``DateTimeFormatter`` from all names of ``DateFormatSymbols.getZoneStrings()``.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_SHORT = """\
Africa/Abidjan|BST|IST
Africa/Johannesburg|SAST
Africa/Lagos|WAT
Africa/Maputo|CAT
Africa/Nairobi|EAT
America/Chicago|CDT|CST|CT
America/Denver|MDT|MST|MT
America/Halifax|ADT|AST|AT
America/Juneau|AKDT|AKST|AKT
America/Los_Angeles|PDT|PST|PT
America/New_York|EDT|EST|ET
America/St_Johns|NDT|NST|NT
Asia/Famagusta|EEST
Asia/Hong_Kong|HKST|HKT
Asia/Jakarta|WIB
Asia/Jayapura|WIT
Asia/Jerusalem|IDT|IT
Asia/Karachi|PKST|PKT
Asia/Makassar|WITA
Asia/Seoul|KST
Asia/Tokyo|JDT|JST|JT
Atlantic/Canary|WEST
Australia/Adelaide|ACDT|ACST|ACT
Australia/Perth|AWDT|AWST|AWT
Australia/Sydney|AEDT|AEST|AET
Europe/Kirov|MSK
Europe/Paris|CEST
GMT+01:00|GMT+01:00
GMT+02:00|GMT+02:00
GMT+03:00|GMT+03:00
GMT+03:30|GMT+03:30
GMT+04:00|GMT+04:00
GMT+04:30|GMT+04:30
GMT+05:00|GMT+05:00
GMT+05:30|GMT+05:30
GMT+05:45|GMT+05:45
GMT+06:00|GMT+06:00
GMT+06:30|GMT+06:30
GMT+07:00|GMT+07:00
GMT+08:00|GMT+08:00
GMT+08:20|GMT+08:20
GMT+08:45|GMT+08:45
GMT+09:00|GMT+09:00
GMT+09:45|GMT+09:45
GMT+10:00|GMT+10:00
GMT+10:30|GMT+10:30
GMT+11:00|GMT+11:00
GMT+12:00|GMT+12:00
GMT+12:45|GMT+12:45
GMT+13:00|GMT+13:00
GMT+13:45|GMT+13:45
GMT+14:00|GMT+14:00
GMT-01:00|GMT-01:00
GMT-02:00|GMT-02:00
GMT-03:00|GMT-03:00
GMT-04:00|GMT-04:00
GMT-05:00|GMT-05:00
GMT-06:00|GMT-06:00
GMT-07:00|GMT-07:00
GMT-08:00|GMT-08:00
GMT-09:00|GMT-09:00
GMT-09:30|GMT-09:30
GMT-10:00|GMT-10:00
GMT-11:00|GMT-11:00
GMT-12:00|GMT-12:00
Pacific/Auckland|NZDT|NZST|NZT
Pacific/Guam|ChST
Pacific/Honolulu|HADT|HAST|HAT|HDT|HST
Pacific/Pago_Pago|SST
"""

_FULL = """\
Africa/Abidjan|Abidjan Daylight Time|Abidjan Time|Accra Daylight Time|Accra Time|Bamako Daylight Time
Africa/Abidjan|Bamako Time|Banjul Daylight Time|Banjul Time|Bissau Daylight Time|Bissau Time
Africa/Abidjan|British Summer Time|Conakry Daylight Time|Conakry Time|Dakar Daylight Time|Dakar Time
Africa/Abidjan|Danmarkshavn Daylight Time|Danmarkshavn Time|Dublin Time|Freetown Daylight Time|Freetown Time
Africa/Abidjan|Greenwich Mean Time|Guernsey Time|Irish Standard Time|Isle of Man Time|Jersey Time
Africa/Abidjan|Lome Daylight Time|Lome Time|London Time|Monrovia Daylight Time|Monrovia Time
Africa/Abidjan|Nouakchott Daylight Time|Nouakchott Time|Ouagadougou Daylight Time|Ouagadougou Time
Africa/Abidjan|Reykjavik Daylight Time|Reykjavik Time|St. Helena Daylight Time|St. Helena Time
Africa/Abidjan|Troll Daylight Time|Troll Time
Africa/Casablanca|Casablanca Daylight Time|Casablanca Standard Time|Casablanca Time
Africa/El_Aaiun|El Aaiun Daylight Time|El Aaiun Standard Time|El Aaiun Time
Africa/Johannesburg|Johannesburg Daylight Time|Johannesburg Time|Maseru Daylight Time|Maseru Time
Africa/Johannesburg|Mbabane Daylight Time|Mbabane Time|South Africa Standard Time
Africa/Lagos|São Tomé Daylight Time|São Tomé Time|West Africa Standard Time|West Africa Summer Time
Africa/Lagos|West Africa Time
Africa/Maputo|Blantyre Daylight Time|Blantyre Time|Bujumbura Daylight Time|Bujumbura Time|Central Africa Time
Africa/Maputo|Gaborone Daylight Time|Gaborone Time|Harare Daylight Time|Harare Time|Juba Daylight Time
Africa/Maputo|Juba Time|Khartoum Daylight Time|Khartoum Time|Kigali Daylight Time|Kigali Time
Africa/Maputo|Lubumbashi Daylight Time|Lubumbashi Time|Lusaka Daylight Time|Lusaka Time|Maputo Daylight Time
Africa/Maputo|Maputo Time|Windhoek Daylight Time|Windhoek Time
Africa/Nairobi|Addis Ababa Daylight Time|Addis Ababa Time|Antananarivo Daylight Time|Antananarivo Time
Africa/Nairobi|Asmara Daylight Time|Asmara Time|Comoro Daylight Time|Comoro Time|Dar es Salaam Daylight Time
Africa/Nairobi|Dar es Salaam Time|Djibouti Daylight Time|Djibouti Time|East Africa Time|Kampala Daylight Time
Africa/Nairobi|Kampala Time|Mayotte Daylight Time|Mayotte Time|Mogadishu Daylight Time|Mogadishu Time
Africa/Nairobi|Nairobi Daylight Time|Nairobi Time
America/Argentina/Buenos_Aires|Argentina Standard Time|Argentina Summer Time|Argentina Time
America/Asuncion|Paraguay Standard Time|Paraguay Summer Time|Paraguay Time
America/Bogota|Colombia Standard Time|Colombia Summer Time|Colombia Time
America/Caracas|Caracas Daylight Time|Caracas Time|Venezuela Time
America/Cayenne|Cayenne Daylight Time|Cayenne Time|French Guiana Time
America/Chicago|Central Daylight Time|Central Standard Time|Central Time
America/Coyhaique|Coyhaique Daylight Time|Coyhaique Standard Time|Coyhaique Time
America/Denver|Mountain Daylight Time|Mountain Standard Time|Mountain Time
America/Guayaquil|Ecuador Time|Guayaquil Daylight Time|Guayaquil Time
America/Guyana|Guyana Daylight Time|Guyana Time
America/Halifax|Atlantic Daylight Time|Atlantic Standard Time|Atlantic Time
America/Havana|Cuba Daylight Time|Cuba Standard Time|Cuba Time
America/Juneau|Alaska Daylight Time|Alaska Standard Time|Alaska Time
America/La_Paz|Bolivia Time|La Paz Daylight Time|La Paz Time
America/Lima|Peru Standard Time|Peru Summer Time|Peru Time
America/Los_Angeles|Pacific Daylight Time|Pacific Standard Time|Pacific Time
America/Manaus|Amazon Standard Time|Amazon Summer Time|Amazon Time
America/Mazatlan|Mexican Pacific Daylight Time|Mexican Pacific Standard Time|Mexican Pacific Time
America/Miquelon|St. Pierre & Miquelon Daylight Time|St. Pierre & Miquelon Standard Time
America/Miquelon|St. Pierre & Miquelon Time
America/Montevideo|Uruguay Standard Time|Uruguay Summer Time|Uruguay Time
America/New_York|Eastern Daylight Time|Eastern Standard Time|Eastern Time
America/Noronha|Fernando de Noronha Standard Time|Fernando de Noronha Summer Time|Fernando de Noronha Time
America/Nuuk|Greenland Standard Time|Greenland Summer Time|Greenland Time
America/Paramaribo|Paramaribo Daylight Time|Paramaribo Time|Suriname Time
America/Punta_Arenas|Punta Arenas Daylight Time|Punta Arenas Standard Time|Punta Arenas Time
America/Rio_Branco|Acre Standard Time|Acre Summer Time|Acre Time
America/Santiago|Chile Standard Time|Chile Summer Time|Chile Time
America/Sao_Paulo|Brasilia Standard Time|Brasilia Summer Time|Brasilia Time
America/St_Johns|Newfoundland Daylight Time|Newfoundland Standard Time|Newfoundland Time
America/Whitehorse|Dawson Daylight Time|Dawson Time|Whitehorse Daylight Time|Whitehorse Time|Yukon Time
Antarctica/Davis|Davis Daylight Time|Davis Time
Antarctica/Mawson|Mawson Daylight Time|Mawson Time
Antarctica/Palmer|Palmer Daylight Time|Palmer Standard Time|Palmer Time
Antarctica/Rothera|Rothera Daylight Time|Rothera Time
Antarctica/Vostok|Vostok Daylight Time|Vostok Time
Asia/Almaty|Almaty Daylight Time|Almaty Time|Aqtau Daylight Time|Aqtau Time|Aqtobe Daylight Time|Aqtobe Time
Asia/Almaty|Atyrau Daylight Time|Atyrau Time|Kazakhstan Time|Kostanay Daylight Time|Kostanay Time
Asia/Almaty|Oral Daylight Time|Oral Time|Qyzylorda Daylight Time|Qyzylorda Time
Asia/Amman|Amman Daylight Time|Amman Standard Time|Amman Time
Asia/Anadyr|Anadyr Standard Time|Anadyr Summer Time|Anadyr Time
Asia/Ashgabat|Turkmenistan Standard Time|Turkmenistan Summer Time|Turkmenistan Time
Asia/Baku|Azerbaijan Standard Time|Azerbaijan Summer Time|Azerbaijan Time
Asia/Bangkok|Bangkok Daylight Time|Bangkok Time|Christmas Island Daylight Time|Christmas Island Time
Asia/Bangkok|Ho Chi Minh City Daylight Time|Ho Chi Minh City Time|Indochina Time|Phnom Penh Daylight Time
Asia/Bangkok|Phnom Penh Time|Vientiane Daylight Time|Vientiane Time
Asia/Barnaul|Barnaul Daylight Time|Barnaul Standard Time|Barnaul Time
Asia/Bishkek|Bishkek Daylight Time|Bishkek Time|Kyrgyzstan Time
Asia/Damascus|Damascus Daylight Time|Damascus Standard Time|Damascus Time
Asia/Dhaka|Bangladesh Standard Time|Bangladesh Summer Time|Bangladesh Time
Asia/Dili|Dili Daylight Time|Dili Time|Timor-Leste Time
Asia/Dubai|Dubai Daylight Time|Dubai Time|Gulf Standard Time|Mahe Daylight Time|Mahe Time
Asia/Dubai|Muscat Daylight Time|Muscat Time|Réunion Daylight Time|Réunion Time|Seychelles Time
Asia/Dushanbe|Dushanbe Daylight Time|Dushanbe Time|Tajikistan Time
Asia/Famagusta|Famagusta Daylight Time|Famagusta Standard Time|Famagusta Time
Asia/Hong_Kong|Hong Kong Standard Time|Hong Kong Summer Time|Hong Kong Time
Asia/Hovd|Hovd Standard Time|Hovd Summer Time|Hovd Time
Asia/Irkutsk|Irkutsk Standard Time|Irkutsk Summer Time|Irkutsk Time
Asia/Jakarta|Jakarta Daylight Time|Jakarta Time|Pontianak Daylight Time|Pontianak Time|Western Indonesia Time
Asia/Jayapura|Eastern Indonesia Time|Jayapura Daylight Time|Jayapura Time
Asia/Jerusalem|Israel Daylight Time|Israel Standard Time|Israel Time
Asia/Kabul|Afghanistan Time|Kabul Daylight Time|Kabul Time
Asia/Kamchatka|Kamchatka Standard Time|Kamchatka Summer Time|Kamchatka Time
Asia/Karachi|Pakistan Standard Time|Pakistan Summer Time|Pakistan Time
Asia/Kathmandu|Kathmandu Daylight Time|Kathmandu Time|Nepal Time
Asia/Kolkata|Colombo Daylight Time|Colombo Time|India Standard Time|Kolkata Daylight Time|Kolkata Time
Asia/Krasnoyarsk|Krasnoyarsk Standard Time|Krasnoyarsk Summer Time|Krasnoyarsk Time
Asia/Kuching|Brunei Daylight Time|Brunei Time|Kuala Lumpur Daylight Time|Kuala Lumpur Time
Asia/Kuching|Kuching Daylight Time|Kuching Time|Malaysia Time
Asia/Magadan|Magadan Standard Time|Magadan Summer Time|Magadan Time
Asia/Makassar|Central Indonesia Time|Makassar Daylight Time|Makassar Time
Asia/Manila|Philippine Standard Time|Philippine Summer Time|Philippine Time
Asia/Novosibirsk|Novosibirsk Standard Time|Novosibirsk Summer Time|Novosibirsk Time
Asia/Omsk|Omsk Standard Time|Omsk Summer Time|Omsk Time
Asia/Riyadh|Arabian Daylight Time|Arabian Standard Time|Arabian Time|Syowa Daylight Time|Syowa Time
Asia/Sakhalin|Sakhalin Standard Time|Sakhalin Summer Time|Sakhalin Time
Asia/Seoul|Korean Daylight Time|Korean Standard Time|Korean Time
Asia/Shanghai|China Daylight Time|China Standard Time|China Time
Asia/Singapore|Singapore Daylight Time|Singapore Standard Time|Singapore Time
Asia/Srednekolymsk|Srednekolymsk Daylight Time|Srednekolymsk Standard Time|Srednekolymsk Time
Asia/Taipei|Taiwan Daylight Time|Taiwan Standard Time|Taiwan Time
Asia/Tashkent|Uzbekistan Standard Time|Uzbekistan Summer Time|Uzbekistan Time
Asia/Tbilisi|Georgia Standard Time|Georgia Summer Time|Georgia Time
Asia/Tehran|Iran Daylight Time|Iran Standard Time|Iran Time
Asia/Thimphu|Bhutan Time|Thimphu Daylight Time|Thimphu Time
Asia/Tokyo|Japan Daylight Time|Japan Standard Time|Japan Time
Asia/Tomsk|Tomsk Daylight Time|Tomsk Standard Time|Tomsk Time
Asia/Ulaanbaatar|Ulaanbaatar Standard Time|Ulaanbaatar Summer Time|Ulaanbaatar Time
Asia/Urumqi|Urumqi Daylight Time|Urumqi Standard Time|Urumqi Time
Asia/Vladivostok|Vladivostok Standard Time|Vladivostok Summer Time|Vladivostok Time
Asia/Yakutsk|Yakutsk Standard Time|Yakutsk Summer Time|Yakutsk Time
Asia/Yangon|Cocos Islands Daylight Time|Cocos Islands Time|Myanmar Time|Yangon Daylight Time|Yangon Time
Asia/Yekaterinburg|Yekaterinburg Standard Time|Yekaterinburg Summer Time|Yekaterinburg Time
Asia/Yerevan|Armenia Standard Time|Armenia Summer Time|Armenia Time
Atlantic/Azores|Azores Standard Time|Azores Summer Time|Azores Time
Atlantic/Canary|Western European Standard Time|Western European Summer Time|Western European Time
Atlantic/Cape_Verde|Cape Verde Standard Time|Cape Verde Summer Time|Cape Verde Time
Atlantic/South_Georgia|South Georgia Daylight Time|South Georgia Time
Atlantic/Stanley|Falkland Islands Standard Time|Falkland Islands Summer Time|Falkland Islands Time
Australia/Adelaide|Australian Central Daylight Time|Australian Central Standard Time|Australian Central Time
Australia/Eucla|Australian Central Western Daylight Time|Australian Central Western Standard Time
Australia/Eucla|Australian Central Western Time
Australia/Lord_Howe|Lord Howe Daylight Time|Lord Howe Standard Time|Lord Howe Time
Australia/Perth|Australian Western Daylight Time|Australian Western Standard Time|Australian Western Time
Australia/Sydney|Australian Eastern Daylight Time|Australian Eastern Standard Time|Australian Eastern Time
Etc/UTC|Coordinated Universal Time
Europe/Astrakhan|Astrakhan Daylight Time|Astrakhan Standard Time|Astrakhan Time
Europe/Bucharest|Eastern European Standard Time|Eastern European Summer Time|Eastern European Time
Europe/Istanbul|Istanbul Daylight Time|Istanbul Standard Time|Istanbul Time
Europe/Kirov|Kirov Daylight Time|Kirov Standard Time|Kirov Time
Europe/Moscow|Moscow Standard Time|Moscow Summer Time|Moscow Time
Europe/Paris|Central European Standard Time|Central European Summer Time|Central European Time
Europe/Samara|Samara Standard Time|Samara Summer Time|Samara Time
Europe/Saratov|Saratov Daylight Time|Saratov Standard Time|Saratov Time
Europe/Ulyanovsk|Ulyanovsk Daylight Time|Ulyanovsk Standard Time|Ulyanovsk Time
Europe/Volgograd|Volgograd Standard Time|Volgograd Summer Time|Volgograd Time
GMT+01:00|GMT+01:00
GMT+02:00|GMT+02:00
GMT+03:00|GMT+03:00
GMT+03:30|GMT+03:30
GMT+04:00|GMT+04:00
GMT+04:30|GMT+04:30
GMT+05:00|GMT+05:00
GMT+05:30|GMT+05:30
GMT+05:45|GMT+05:45
GMT+06:00|GMT+06:00
GMT+06:30|GMT+06:30
GMT+07:00|GMT+07:00
GMT+08:00|GMT+08:00
GMT+08:20|GMT+08:20
GMT+08:45|GMT+08:45
GMT+09:00|GMT+09:00
GMT+09:45|GMT+09:45
GMT+10:00|GMT+10:00
GMT+10:30|GMT+10:30
GMT+11:00|GMT+11:00
GMT+12:00|GMT+12:00
GMT+12:45|GMT+12:45
GMT+13:00|GMT+13:00
GMT+13:45|GMT+13:45
GMT+14:00|GMT+14:00
GMT-01:00|GMT-01:00
GMT-02:00|GMT-02:00
GMT-03:00|GMT-03:00
GMT-04:00|GMT-04:00
GMT-05:00|GMT-05:00
GMT-06:00|GMT-06:00
GMT-07:00|GMT-07:00
GMT-08:00|GMT-08:00
GMT-09:00|GMT-09:00
GMT-09:30|GMT-09:30
GMT-10:00|GMT-10:00
GMT-11:00|GMT-11:00
GMT-12:00|GMT-12:00
Indian/Chagos|Chagos Daylight Time|Chagos Time|Indian Ocean Time
Indian/Maldives|French Southern & Antarctic Time|Kerguelen Daylight Time|Kerguelen Time
Indian/Maldives|Maldives Daylight Time|Maldives Time
Indian/Mauritius|Mauritius Standard Time|Mauritius Summer Time|Mauritius Time
Pacific/Apia|Samoa Daylight Time|Samoa Standard Time|Samoa Time
Pacific/Auckland|New Zealand Daylight Time|New Zealand Standard Time|New Zealand Time
Pacific/Bougainville|Bougainville Daylight Time|Bougainville Standard Time|Bougainville Time
Pacific/Chatham|Chatham Daylight Time|Chatham Standard Time|Chatham Time
Pacific/Easter|Easter Island Standard Time|Easter Island Summer Time|Easter Island Time
Pacific/Efate|Vanuatu Standard Time|Vanuatu Summer Time|Vanuatu Time
Pacific/Fakaofo|Fakaofo Daylight Time|Fakaofo Time|Tokelau Time
Pacific/Fiji|Fiji Standard Time|Fiji Summer Time|Fiji Time
Pacific/Galapagos|Galapagos Daylight Time|Galapagos Time
Pacific/Gambier|Gambier Daylight Time|Gambier Time
Pacific/Guadalcanal|Guadalcanal Daylight Time|Guadalcanal Time|Pohnpei Daylight Time|Pohnpei Time
Pacific/Guadalcanal|Solomon Islands Time
Pacific/Guam|Chamorro Standard Time|Guam Daylight Time|Guam Time|Saipan Daylight Time|Saipan Time
Pacific/Honolulu|Hawaii-Aleutian Daylight Time|Hawaii-Aleutian Standard Time|Hawaii-Aleutian Time
Pacific/Kanton|Enderbury Daylight Time|Enderbury Time|Phoenix Islands Time
Pacific/Kiritimati|Kiritimati Daylight Time|Kiritimati Time|Line Islands Time
Pacific/Kosrae|Kosrae Daylight Time|Kosrae Time
Pacific/Marquesas|Marquesas Daylight Time|Marquesas Time
Pacific/Nauru|Nauru Daylight Time|Nauru Time
Pacific/Niue|Niue Daylight Time|Niue Time
Pacific/Norfolk|Norfolk Island Daylight Time|Norfolk Island Standard Time|Norfolk Island Time
Pacific/Noumea|New Caledonia Standard Time|New Caledonia Summer Time|New Caledonia Time
Pacific/Pago_Pago|American Samoa Daylight Time|American Samoa Standard Time|American Samoa Time
Pacific/Palau|Palau Daylight Time|Palau Time
Pacific/Pitcairn|Pitcairn Daylight Time|Pitcairn Time
Pacific/Port_Moresby|Chuuk Daylight Time|Chuuk Time|Dumont d’Urville Time|Dumont-d’Urville Daylight Time
Pacific/Port_Moresby|Dumont-d’Urville Time|Papua New Guinea Time|Port Moresby Daylight Time|Port Moresby Time
Pacific/Rarotonga|Cook Islands Standard Time|Cook Islands Summer Time|Cook Islands Time
Pacific/Tahiti|Tahiti Daylight Time|Tahiti Time
Pacific/Tarawa|Funafuti Daylight Time|Funafuti Time|Gilbert Islands Time|Kwajalein Daylight Time
Pacific/Tarawa|Kwajalein Time|Majuro Daylight Time|Majuro Time|Marshall Islands Time|Tarawa Daylight Time
Pacific/Tarawa|Tarawa Time|Tuvalu Time|Wake Island Daylight Time|Wake Island Time|Wallis Daylight Time
Pacific/Tarawa|Wallis Time
Pacific/Tongatapu|Tonga Standard Time|Tonga Summer Time|Tonga Time
"""


@cache
def region_names(style: str) -> dict[str, str]:
    """Return regions by their names; ``style`` is ``short`` or ``full``."""
    lines = (line.split("|") for line in (_SHORT if style == "short" else _FULL).splitlines())
    return {name: region for region, *names in lines for name in names}


_OFFSET: Final = re.compile(r"([+-])(?:(\d)|(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)", re.ASCII)
_PREFIX: Final = re.compile(r"(?:UTC|GMT|UT)(?=[+-]|$)")
_NOT_IN_JAVA: Final = frozenset(("EST", "MST", "HST", "ROC", "Factory", "localtime", "posixrules"))
_MOST_HOURS: Final = 18


@cache
def region_ids() -> frozenset[str]:
    """Return the names of regions that Java knows."""
    named = (name for name in available_timezones() if not name.startswith(("posix/", "right/")))
    return frozenset(named) - _NOT_IN_JAVA


@cache
def find_zone(zone_id: str) -> tzinfo | None:
    """Return the zone of an id, None where Java knows no such id.

    >>> find_zone("+10") == find_zone("+1000") == find_zone("UTC+10:00")
    True
    """
    if zone_id in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if zone_id in region_ids():
        return ZoneInfo(zone_id)
    return offset_zone(_PREFIX.sub("", zone_id, count=1))


def offset_zone(text: str) -> tzinfo | None:
    """Return the zone of an offset in one of Java's forms, None where it is none or beyond 18 hours."""
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    sign, hour, hours, minutes, seconds = found.groups()
    parts = [int(part or 0) for part in (hour or hours, minutes, seconds)]
    total = timedelta(hours=parts[0], minutes=parts[1], seconds=parts[2])
    if max(parts[1:]) > 59 or total > timedelta(hours=_MOST_HOURS):
        return None
    return timezone(-total if sign == "-" else total)
