"""The vocabulary of the demo web: words, and sentence templates with placeholders for them."""

from dataclasses import dataclass

#: The words for a placeholder, by its name.
WORDS = {
    "place": (
        "Alder Bay", "Brindle", "Carrow", "Dunmere", "Eastleigh Point", "Farrow Hill", "Glasson",
        "Harwick", "Inverlyne", "Kestrel Moor", "Lowther", "Marlow Sound", "Northgate", "Oakhaven",
        "Penrose", "Quarry Hill", "Redcliff", "Stonebridge", "Thornbury", "Upper Wexley",
    ),
    "person": (
        "Ada Lindqvist", "Bram Okafor", "Carla Mendes", "Dev Patel", "Elif Demir", "Finn Gallagher",
        "Grace Nakamura", "Hugo Laurent", "Ines Castro", "Jonas Weber", "Kira Novak", "Leo Rossi",
        "Maya Cohen", "Nils Berg", "Olga Petrova", "Priya Raman", "Rosa Jimenez", "Sam Whitfield",
    ),
    "work": (
        "the harbour wall", "the old railway bridge", "the public library", "the tram line",
        "the swimming hall", "the covered market", "the flood barrier", "the town archive",
        "the cycle path", "the lighthouse", "the water mill", "the bus station",
    ),
    "group": (
        "the town council", "the harbour office", "a group of residents", "the regional court",
        "the teachers' union", "the football club", "the fire brigade", "the fishing cooperative",
        "the chamber of commerce", "the river authority",
    ),
    "weather": (
        "heavy rain", "an early frost", "a week of fog", "strong winds", "an unusually dry spring",
        "the warmest evening of the year", "a sudden thaw", "high tides",
    ),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
    "small": ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"),
    "large": ("140", "210", "360", "480", "650", "720", "900", "1,150", "1,800", "2,400", "3,600"),
    "dish": (
        "rye bread", "plum cake", "fennel soup", "smoked trout", "potato dumplings", "lemon tart",
        "pickled beetroot", "barley risotto", "roast pumpkin", "walnut pesto",
    ),
    "hobby": (
        "bookbinding", "long walks", "beekeeping", "film photography", "bread baking", "gardening",
        "woodcarving", "bird watching", "repairing bicycles", "learning the cello",
    ),
    "feeling": (
        "pleased", "a little nervous", "grateful", "tired but happy", "surprised", "curious",
        "stubborn", "relieved",
    ),
    "part": (
        "the scheduler", "the parser", "the message queue", "the index", "the cache",
        "the log writer", "the connection pool", "the storage engine", "the planner",
        "the configuration loader", "the access list", "the background worker",
    ),
    "option": (
        "retry_limit", "batch_size", "max_connections", "flush_interval", "log_level",
        "read_only", "page_size", "idle_timeout", "shard_count", "checksum",
    ),
    "system": (
        "Linux", "macOS", "Windows", "a container", "a small virtual machine", "a cluster",
        "a read-only file system", "a laptop",
    ),
    "trouble": (
        "a permission error", "a slow disk", "an expired certificate", "a full queue",
        "two clocks that disagree", "a half-written file", "a lost connection", "an empty result",
    ),
    "product": (
        "floor lamp", "walnut table", "wool blanket", "cast-iron pan", "garden bench", "tea kettle",
        "reading chair", "oak stool", "linen curtain", "storm lantern", "canvas bag", "wall clock",
        "bread knife", "picnic basket", "enamel mug", "leather notebook",
    ),
    "material": (
        "solid oak", "brushed steel", "washed linen", "recycled glass", "pure wool",
        "powder-coated iron", "vegetable-tanned leather", "beech plywood", "stoneware", "brass",
    ),
    "colour": (
        "moss green", "charcoal", "sand", "deep blue", "rust red", "ivory", "slate", "mustard",
    ),
    "room": ("kitchen", "hall", "study", "bedroom", "workshop", "balcony", "nursery", "porch"),
    "species": (
        "the grey heron", "the harbour seal", "the stone pine", "the marsh orchid", "the barn owl",
        "the sea eagle", "the wild leek", "the river otter", "the common eider", "the bog myrtle",
    ),
    "century": ("twelfth", "thirteenth", "fifteenth", "sixteenth", "eighteenth", "nineteenth"),
    "craft": (
        "boat building", "rope making", "salt trading", "weaving", "glass blowing",
        "herring fishing", "quarrying", "clock making",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topic:
    """Templates for one subject; no two have the same words around their placeholders."""

    headlines: tuple[str, ...]
    sentences: tuple[str, ...]


NEWS = Topic(
    (
        "{place} reopens {work} after {small} months",
        "Storm warning: {weather} expected near {place}",
        "{person} elected to lead council of {place}",
        "Strike ends: {group} and employers agree",
        "More than {large} people march through {place}",
        "Plans for {work} divide {place}",
        "Rescue off {place}: {small} sailors are safe",
        "{place} wins cup final after {small} attempts",
        "Ferry to {place} cancelled until {day}",
        "Budget vote postponed to {month}",
    ),
    (
        "On {day} {group} said that {work} would stay closed until {month}.",
        "Around {large} people in {place} were without power after {weather}.",
        "{person}, who has lived in {place} for {small} years, called the decision overdue.",
        "A spokesperson for {group} declined to say how much the repairs will cost.",
        "The vote was closer than expected, and {small} members changed sides at the end.",
        "Trains between {place} and {place} run every {small} hours for the time being.",
        "Police asked anyone who saw the accident near {work} to come forward.",
        "According to {person}, the first results will be published in {month}.",
        "It is one of {small} such cases this year, after similar reports from {place}.",
        "Shops around {work} reported {large} more visitors than in {month}.",
        "Experts blame {weather}, which the old drains were never built for.",
        "Negotiations with {group} continue on {day} behind closed doors.",
    ),
)

BLOG = Topic(
    (
        "What {small} months of {hobby} taught me",
        "A weekend in {place}, with {dish}",
        "Why I gave up {hobby}, and came back",
        "Notes from {place} in {month}",
        "How to make {dish} without an oven",
        "A letter to {person}",
        "{day} mornings, and other small habits",
        "Walking from {place} to {place}",
    ),
    (
        "I had planned to stay for {small} days, and in the end I stayed until {month}.",
        "My neighbour {person} swears by {dish}, and after this week I understand why.",
        "There is something about {hobby} that makes an evening feel twice as long.",
        "We took the early bus to {place} and had the beach to ourselves until noon.",
        "If you try it yourself, start with {dish}; it forgives almost everything.",
        "To be honest I was {feeling}, and it must have shown.",
        "After {weather} the path to {place} was mostly mud, which the dog enjoyed.",
        "Several of you wrote to ask about {hobby}, so here is the longer answer.",
        "On {day} I finally met {person}, whose book started all of this.",
        "It cost less than I feared: {small} evenings, some glue and a lot of patience.",
        "Next month I will write about {hobby}, unless {weather} should get in the way.",
    ),
)

DOCS = Topic(
    (
        "Setting up {part}",
        "Running {part} on {system}",
        "When {part} reports {trouble}",
        "How {part} and {part} work together",
        "Changing {option} safely",
        "Upgrading {part} without downtime",
        "Measuring what {part} costs",
        "Recovering from {trouble}",
    ),
    (
        "Set <code>{option}</code> to {small} unless {part} runs on {system}.",
        "Before {part} starts, it checks <code>{option}</code> and refuses values it cannot use.",
        "If you see {trouble}, restart {part} and look at the last {large} lines of the log.",
        "In most installations {part} needs no more than {large} megabytes of memory.",
        "{part} hands its results to {part}, which writes them in one step.",
        "On {system} the default of <code>{option}</code> is lower, because of {trouble}.",
        "Since the release in {month}, <code>{option}</code> may be changed while running.",
        "A value above {large} helps only when {part} is the bottleneck.",
        "To rule out {trouble}, run the check with <code>{option}</code> switched off.",
        "Both {part} and {part} must be stopped before the files are moved.",
        "This page describes {part}; for {part} see the next chapter.",
    ),
)

SHOP = Topic(
    (
        "The {product} in {colour}, made to last",
        "The {product} for your {room}",
        "Back in stock: {product}, {material}",
        "New colour {colour} for the {product}",
        "Our {product}, now with {small} years of guarantee",
        "Made in {place}: the {product}",
        "Customers' choice in {month}: the {product}",
        "Small batch of {large}: {product} in {material}",
    ),
    (
        "Made of {material}, it will look better after {small} years than on the first day.",
        "It comes in {colour} and in {colour}, and fits into any {room}.",
        "Our workshop in {place} finishes {large} pieces a year, each by hand.",
        "Orders placed before {day} are sent within {small} days.",
        "Pairs well with the {product}, which is made of the same {material}.",
        "To clean it, use a damp cloth; {material} does not like strong soap.",
        "{person} from {place} writes that it survived {small} house moves.",
        "The box weighs little and holds {small} parts, all of which can be replaced.",
        "We send spare parts free of charge until {month}.",
        "The {colour} one was dyed with plants that grow around {place}.",
    ),
)

WIKI = Topic(
    (
        "{place} and its history of {craft}",
        "How {place} came by {work}",
        "Wildlife: {species}",
        "The people of {place}",
        "Where {craft} began",
        "{place} in the {century} century",
        "Customs of {month}",
        "The making of {work}",
    ),
    (
        "In the {century} century {place} was known for {craft}.",
        "The parish counted {large} inhabitants when {work} was begun.",
        "Visitors often notice {species}, which returns every {month}.",
        "Records of {craft} end in the {century} century, after {weather}.",
        "{person} described the coast near {place} in {small} volumes.",
        "Today {work} is looked after by {group}.",
        "A plaque near {place} recalls the {large} people who left in that year.",
        "Local tradition connects {species} with the feast held in {month}.",
        "Of the {small} original towers, only the one facing {place} still stands.",
        "The name is first recorded in the {century} century, in a letter about {craft}.",
    ),
)

#: Adverts, one of which is shown at every fetch, with their links.
ADVERTS = (
    ("Fresh coffee, roasted on Tuesdays", "/offers/coffee"),
    ("Learn to sail in a weekend", "/offers/sailing"),
    ("Rent a cargo bike by the hour", "/offers/bikes"),
    ("Winter tyres, fitted while you wait", "/offers/tyres"),
    ("Piano lessons for beginners", "/offers/piano"),
    ("Quiet rooms by the lake", "/offers/rooms"),
    ("Glasses in an hour", "/offers/glasses"),
    ("A newspaper that arrives before you wake", "/offers/paper"),
    ("Moving house? Boxes at half price", "/offers/boxes"),
    ("Choir looking for tenors", "/offers/choir"),
    ("Solar panels without paperwork", "/offers/solar"),
)
