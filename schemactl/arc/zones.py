"""Time zones by the ids that Java's ``ZoneId.of`` takes, and by their names in American English (``z`` and ``zzzz``).

A name of several regions means the one that Java 25 prefers (``CST`` is Chicago); ids of regions are not names.
Parsed with ``DateTimeFormatter`` from all names of ``DateFormatSymbols.getZoneStrings()``.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_SHORT: Final = """
Africa/Abidjan BST, IST; Africa/Johannesburg SAST; Africa/Lagos WAT; Africa/Maputo CAT; Africa/Nairobi EAT;
America/Chicago CDT, CST, CT; America/Denver MDT, MST, MT; America/Halifax ADT, AST, AT; America/Juneau AKDT, AKST,
AKT; America/Los_Angeles PDT, PST, PT; America/New_York EDT, EST, ET; America/St_Johns NDT, NST, NT;
Asia/Famagusta EEST; Asia/Hong_Kong HKST, HKT; Asia/Jakarta WIB; Asia/Jayapura WIT; Asia/Jerusalem IDT, IT;
Asia/Karachi PKST, PKT; Asia/Makassar WITA; Asia/Seoul KST; Asia/Tokyo JDT, JST, JT; Atlantic/Canary WEST;
Australia/Adelaide ACDT, ACST, ACT; Australia/Perth AWDT, AWST, AWT; Australia/Sydney AEDT, AEST, AET;
Europe/Kirov MSK; Europe/Paris CEST; Pacific/Auckland NZDT, NZST, NZT; Pacific/Guam ChST; Pacific/Honolulu HADT, HAST,
HAT, HDT, HST; Pacific/Pago_Pago SST;
"""
"""Regions with their names."""

_FULL: Final = """
Africa/Abidjan Abidjan:DT, Accra:DT, Bamako:DT, Banjul:DT, Bissau:DT, British:U, Conakry:DT, Dakar:DT, Danmarkshavn:DT,
Dublin:T, Freetown:DT, Greenwich Mean:T, Guernsey:T, Irish:S, Isle of Man:T, Jersey:T, Lome:DT, London:T, Monrovia:DT,
Nouakchott:DT, Ouagadougou:DT, Reykjavik:DT, St. Helena:DT, Troll:DT; Africa/Casablanca Casablanca:DST;
Africa/El_Aaiun El Aaiun:DST; Africa/Johannesburg Johannesburg:DT, Maseru:DT, Mbabane:DT, South Africa:S;
Africa/Lagos São Tomé:DT, West Africa:SUT; Africa/Maputo Blantyre:DT, Bujumbura:DT, Central Africa:T, Gaborone:DT,
Harare:DT, Juba:DT, Khartoum:DT, Kigali:DT, Lubumbashi:DT, Lusaka:DT, Maputo:DT, Windhoek:DT;
Africa/Nairobi Addis Ababa:DT, Antananarivo:DT, Asmara:DT, Comoro:DT, Dar es Salaam:DT, Djibouti:DT, East Africa:T,
Kampala:DT, Mayotte:DT, Mogadishu:DT, Nairobi:DT; America/Argentina/Buenos_Aires Argentina:SUT;
America/Asuncion Paraguay:SUT; America/Bogota Colombia:SUT; America/Caracas Caracas:DT, Venezuela:T;
America/Cayenne Cayenne:DT, French Guiana:T; America/Chicago Central:DST; America/Coyhaique Coyhaique:DST;
America/Denver Mountain:DST; America/Guayaquil Ecuador:T, Guayaquil:DT; America/Guyana Guyana:DT;
America/Halifax Atlantic:DST; America/Havana Cuba:DST; America/Juneau Alaska:DST; America/La_Paz Bolivia:T, La Paz:DT;
America/Lima Peru:SUT; America/Los_Angeles Pacific:DST; America/Manaus Amazon:SUT;
America/Mazatlan Mexican Pacific:DST; America/Miquelon St. Pierre & Miquelon:DST; America/Montevideo Uruguay:SUT;
America/New_York Eastern:DST; America/Noronha Fernando de Noronha:SUT; America/Nuuk Greenland:SUT;
America/Paramaribo Paramaribo:DT, Suriname:T; America/Punta_Arenas Punta Arenas:DST; America/Rio_Branco Acre:SUT;
America/Santiago Chile:SUT; America/Sao_Paulo Brasilia:SUT; America/St_Johns Newfoundland:DST;
America/Whitehorse Dawson:DT, Whitehorse:DT, Yukon:T; Antarctica/Davis Davis:DT; Antarctica/Mawson Mawson:DT;
Antarctica/Palmer Palmer:DST; Antarctica/Rothera Rothera:DT; Antarctica/Vostok Vostok:DT; Asia/Almaty Almaty:DT,
Aqtau:DT, Aqtobe:DT, Atyrau:DT, Kazakhstan:T, Kostanay:DT, Oral:DT, Qyzylorda:DT; Asia/Amman Amman:DST;
Asia/Anadyr Anadyr:SUT; Asia/Ashgabat Turkmenistan:SUT; Asia/Baku Azerbaijan:SUT; Asia/Bangkok Bangkok:DT,
Christmas Island:DT, Ho Chi Minh City:DT, Indochina:T, Phnom Penh:DT, Vientiane:DT; Asia/Barnaul Barnaul:DST;
Asia/Bishkek Bishkek:DT, Kyrgyzstan:T; Asia/Damascus Damascus:DST; Asia/Dhaka Bangladesh:SUT; Asia/Dili Dili:DT,
Timor-Leste:T; Asia/Dubai Dubai:DT, Gulf:S, Mahe:DT, Muscat:DT, Réunion:DT, Seychelles:T; Asia/Dushanbe Dushanbe:DT,
Tajikistan:T; Asia/Famagusta Famagusta:DST; Asia/Hong_Kong Hong Kong:SUT; Asia/Hovd Hovd:SUT; Asia/Irkutsk Irkutsk:SUT;
Asia/Jakarta Jakarta:DT, Pontianak:DT, Western Indonesia:T; Asia/Jayapura Eastern Indonesia:T, Jayapura:DT;
Asia/Jerusalem Israel:DST; Asia/Kabul Afghanistan:T, Kabul:DT; Asia/Kamchatka Kamchatka:SUT; Asia/Karachi Pakistan:SUT;
Asia/Kathmandu Kathmandu:DT, Nepal:T; Asia/Kolkata Colombo:DT, India:S, Kolkata:DT; Asia/Krasnoyarsk Krasnoyarsk:SUT;
Asia/Kuching Brunei:DT, Kuala Lumpur:DT, Kuching:DT, Malaysia:T; Asia/Magadan Magadan:SUT;
Asia/Makassar Central Indonesia:T, Makassar:DT; Asia/Manila Philippine:SUT; Asia/Novosibirsk Novosibirsk:SUT;
Asia/Omsk Omsk:SUT; Asia/Riyadh Arabian:DST, Syowa:DT; Asia/Sakhalin Sakhalin:SUT; Asia/Seoul Korean:DST;
Asia/Shanghai China:DST; Asia/Singapore Singapore:DST; Asia/Srednekolymsk Srednekolymsk:DST; Asia/Taipei Taiwan:DST;
Asia/Tashkent Uzbekistan:SUT; Asia/Tbilisi Georgia:SUT; Asia/Tehran Iran:DST; Asia/Thimphu Bhutan:T, Thimphu:DT;
Asia/Tokyo Japan:DST; Asia/Tomsk Tomsk:DST; Asia/Ulaanbaatar Ulaanbaatar:SUT; Asia/Urumqi Urumqi:DST;
Asia/Vladivostok Vladivostok:SUT; Asia/Yakutsk Yakutsk:SUT; Asia/Yangon Cocos Islands:DT, Myanmar:T, Yangon:DT;
Asia/Yekaterinburg Yekaterinburg:SUT; Asia/Yerevan Armenia:SUT; Atlantic/Azores Azores:SUT;
Atlantic/Canary Western European:SUT; Atlantic/Cape_Verde Cape Verde:SUT; Atlantic/South_Georgia South Georgia:DT;
Atlantic/Stanley Falkland Islands:SUT; Australia/Adelaide Australian Central:DST;
Australia/Eucla Australian Central Western:DST; Australia/Lord_Howe Lord Howe:DST;
Australia/Perth Australian Western:DST; Australia/Sydney Australian Eastern:DST; Etc/UTC Coordinated Universal:T;
Europe/Astrakhan Astrakhan:DST; Europe/Bucharest Eastern European:SUT; Europe/Istanbul Istanbul:DST;
Europe/Kirov Kirov:DST; Europe/Moscow Moscow:SUT; Europe/Paris Central European:SUT; Europe/Samara Samara:SUT;
Europe/Saratov Saratov:DST; Europe/Ulyanovsk Ulyanovsk:DST; Europe/Volgograd Volgograd:SUT; Indian/Chagos Chagos:DT,
Indian Ocean:T; Indian/Maldives French Southern & Antarctic:T, Kerguelen:DT, Maldives:DT;
Indian/Mauritius Mauritius:SUT; Pacific/Apia Samoa:DST; Pacific/Auckland New Zealand:DST;
Pacific/Bougainville Bougainville:DST; Pacific/Chatham Chatham:DST; Pacific/Easter Easter Island:SUT;
Pacific/Efate Vanuatu:SUT; Pacific/Fakaofo Fakaofo:DT, Tokelau:T; Pacific/Fiji Fiji:SUT;
Pacific/Galapagos Galapagos:DT; Pacific/Gambier Gambier:DT; Pacific/Guadalcanal Guadalcanal:DT, Pohnpei:DT,
Solomon Islands:T; Pacific/Guam Chamorro:S, Guam:DT, Saipan:DT; Pacific/Honolulu Hawaii-Aleutian:DST;
Pacific/Kanton Enderbury:DT, Phoenix Islands:T; Pacific/Kiritimati Kiritimati:DT, Line Islands:T;
Pacific/Kosrae Kosrae:DT; Pacific/Marquesas Marquesas:DT; Pacific/Nauru Nauru:DT; Pacific/Niue Niue:DT;
Pacific/Norfolk Norfolk Island:DST; Pacific/Noumea New Caledonia:SUT; Pacific/Pago_Pago American Samoa:DST;
Pacific/Palau Palau:DT; Pacific/Pitcairn Pitcairn:DT; Pacific/Port_Moresby Chuuk:DT, Dumont d’Urville:T,
Dumont-d’Urville:DT, Papua New Guinea:T, Port Moresby:DT; Pacific/Rarotonga Cook Islands:SUT; Pacific/Tahiti Tahiti:DT;
Pacific/Tarawa Funafuti:DT, Gilbert Islands:T, Kwajalein:DT, Majuro:DT, Marshall Islands:T, Tarawa:DT, Tuvalu:T,
Wake Island:DT, Wallis:DT; Pacific/Tongatapu Tonga:SUT;
"""
"""Regions with the names that begin by a stem: ``Acre:SUT`` is Acre Standard Time, Acre Summer Time and Acre Time."""

_KINDS: Final = {"D": " Daylight Time", "S": " Standard Time", "U": " Summer Time", "T": " Time"}
_GMT: Final = (
    "+01:00 +02:00 +03:00 +03:30 +04:00 +04:30 +05:00 +05:30 +05:45 +06:00 +06:30 +07:00 +08:00 +08:20 +08:45 "
    "+09:00 +09:45 +10:00 +10:30 +11:00 +12:00 +12:45 +13:00 +13:45 +14:00 -01:00 -02:00 -03:00 -04:00 -05:00 "
    "-06:00 -07:00 -08:00 -09:00 -09:30 -10:00 -11:00 -12:00"
)
"""Offsets from GMT that are names, too."""


@cache
def region_names(style: str) -> dict[str, str]:
    """Return regions by their names; ``style`` is ``short`` or ``full``."""
    regions = {}
    for entry in " ".join((_SHORT if style == "short" else _FULL).split()).removesuffix(";").split("; "):
        region, _, names = entry.partition(" ")
        for name in names.split(", "):
            stem, _, kinds = name.partition(":")
            regions.update({f"{stem}{_KINDS[kind]}": region for kind in kinds} if kinds else {stem: region})
    return regions | {f"GMT{offset}": f"GMT{offset}" for offset in _GMT.split()}


_OFFSET: Final = re.compile(r"([+-])(?:(\d)|(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)", re.ASCII)
_PREFIX: Final = re.compile(r"(?:UTC|GMT|UT)(?=[+-]|$)")
_NOT_IN_JAVA: Final = frozenset(("EST", "MST", "HST", "ROC", "Factory", "localtime", "posixrules"))


@cache
def region_ids() -> frozenset[str]:
    """Return the names of regions that Java knows."""
    current_names = (name for name in available_timezones() if not name.startswith(("posix/", "right/")))
    return frozenset(current_names) - _NOT_IN_JAVA


@cache
def find_zone(zone_id: str) -> tzinfo | None:
    """Return the zone of an id, None if Java has no such id; offsets have 18 hours at most.

    >>> find_zone("+10") == find_zone("+1000") == find_zone("UTC+10:00")
    True
    """
    if zone_id in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if zone_id in region_ids():
        return ZoneInfo(zone_id)
    offset = _OFFSET.fullmatch(_PREFIX.sub("", zone_id, count=1))
    if offset is None:
        return None
    sign, hour, *digits = offset.groups()
    hours, minutes, seconds = (int(number or 0) for number in (hour or digits[0], *digits[1:]))
    total = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if max(minutes, seconds) > 59 or total > timedelta(hours=18):
        return None
    return timezone(-total if sign == "-" else total)
