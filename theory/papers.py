"""The papers that have claims here: what they are called, who wrote them, and where they are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper, or several that belong together."""

    name: str  # what pages call it
    short: str = ""  # its abbreviations and the names of its methods, as people type them
    title: str = ""  # this and the others as they are printed; empty for what is no one paper
    authors: str = ""
    arxiv: str = ""


PAPERS: dict[str, Paper] = {  # in the order of the report
    "leviathan": Paper(
        "Base rule",
        "speculative decoding, Leviathan",
        "Fast Inference from Transformers via Speculative Decoding",
        "Yaniv Leviathan, Matan Kalman, Yossi Matias",
        "2211.17192",
    ),
    "gsd": Paper(
        "Grouped speculative decoding (GSD)",
        "GSD, grouped",
        "Grouped Speculative Decoding for Autoregressive Image Generation",
        "Junhyuk So, Juncheol Shin, Hyunho Kook, Eunhyeok Park",
        "2508.07747",
    ),
    "sjd": Paper(
        "Speculative Jacobi decoding (SJD)",
        "SJD, Jacobi",
        "Accelerating Auto-regressive Text-to-Image Generation with Training-free Speculative Jacobi Decoding",
        "Yao Teng, Han Shi, Xian Liu, Xuefei Ning, Guohao Dai, Yu Wang, Zhenguo Li, Xihui Liu",
        "2410.01699",
    ),
    "lantern": Paper(
        "LANTERN",
        "LANTERN, relaxed",
        "LANTERN: Accelerating Visual Autoregressive Models with Relaxed Speculative Decoding",
        "Doohyuk Jang, Sihwan Park, June Yong Yang, Yeonsung Jung, Jihun Yun, Souvik Kundu, Sung-Yub Kim, Eunho Yang",
        "2410.03355",
    ),
    "sjd-pac": Paper(
        "SJD-PAC",
        "SJD-PAC, PAC",
        "SJD-PAC: Accelerating Speculative Jacobi Decoding via Proactive Drafting and Adaptive Continuation",
        "Jialiang Kang, Han Shu, Wenshuo Li, Yingjie Zhai, Xinghao Chen",
        "2603.18599",
    ),
    "scd": Paper("Speculative coupled decoding (SCD)", "SCD, MC-SJD, coupled", authors="So et al.", arxiv="2510.24211"),
    "baselines": Paper("Samplers and baselines"),
    "lossy": Paper("Lossy rules of later methods", "Cactus, MARS, Medusa, DIVERSED, cascade, fuzzy, lenience"),
    "cspd": Paper(
        "Continuous speculative decoding (CSpD)",
        "CSpD, continuous",
        "Continuous Speculative Decoding for Autoregressive Image Generation",
        "Zili Wang, Robert Zhang, Kun Ding, Qi Yang, Fei Li, Shiming Xiang",
        "2411.11925",
    ),
    "hierarchical": Paper(
        "Hierarchical speculative decoding (HSD)", "HSD, hierarchical", authors="Zhou et al.", arxiv="2601.05724"
    ),
    "traversal": Paper(
        "Traversal verification of trees", "traversal verification", authors="Weng et al.", arxiv="2505.12398"
    ),
    "candidates": Paper("Several candidates for one position, and dynamic trees", "SpecTr, SpecInfer, EAGLE-2"),
    "images": Paper("Image methods of 2025 and 2026, diffusions, and engines"),
    "published": Paper("Published numbers against each other", "published, printed tables"),
}
